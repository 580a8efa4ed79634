// SPDX-License-Identifier: MIT
//
// Looks for what is odd about a valid file: its index byte by byte, and the bytes that no blob covers. Cold: nobody
// asks when a file is merely opened.
#ifndef ZTENSOR_DETAIL_READ_INDEX_AUDIT_HPP
#define ZTENSOR_DETAIL_READ_INDEX_AUDIT_HPP

#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/read/opened_file.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Fills `found`, of which strict reading wants but the first: what breaks a rule ends its search.
class index_audit {
public:
    index_audit(const opened_file& file, vector<lint_finding>& found, bool wants_all) noexcept
        : file_(file), found_(found), wants_all_(wants_all) {}

    /// Everything that strict reading refuses. Errors: what the source says.
    ZTENSOR_COLD result<void> run() {
        look_at_encoding();
        if (is_wanted() && file_.index.version != version::v2) { // whose order is checked when it is opened
            look_at_order();
        }
        return is_wanted() ? look_between_blobs() : result<void>();
    }

private:
    [[nodiscard]] bool is_wanted() const noexcept { return wants_all_ || found_.empty(); }

    void tell(lint_kind kind, string_view object, string_view component, string sentence) {
        found_.push_back({kind, string(object), string(component), std::move(sentence)});
    }

    // -- heads

    /// The first head that could be shorter, or is of indefinite length. The bytes were well-formed items when the file
    /// was opened.
    [[nodiscard]] static const char* find_odd_head(bytes_view items, size_t& position) noexcept {
        for (position = 0; position < items.size();) {
            const auto first = std::to_integer<uint8_t>(items[position]);
            const auto major = static_cast<cbor_major>(first >> 5);
            const unsigned info = first & 31U;
            if (info == 31) {
                return "an item of indefinite length";
            }
            const size_t more = info < 24 ? 0 : size_t{1} << (info - 24);
            if (more >= items.size() - position) {
                return nullptr; // which no valid index has
            }
            const uint64_t argument = more == 0 ? info : load_big(items.data() + position + 1, more);
            const bool fits_in_less = more == 1 ? argument < 24 : more > 1 && argument >> (4 * more) == 0;
            if (fits_in_less && major != cbor_major::simple) {
                return "a head longer than need be";
            }
            const bool is_string = major == cbor_major::bytes || major == cbor_major::text;
            const uint64_t content = is_string ? argument : 0;
            const size_t left = items.size() - position - 1 - more;
            position += 1 + more + static_cast<size_t>((std::min<uint64_t>)(content, left));
        }
        return nullptr;
    }

    void look_at_encoding() {
        const bytes_view index = file_.index.bytes();
        size_t position = 0;
        if (file_.index.version != version::v0_1) {
            return tell_of_head(find_odd_head(index, position), position);
        }
        cbor_cursor cursor(index); // each tensor is a map of indefinite length there
        cbor_sequence tensors, fields;
        if (index.empty() || !cursor.enter_array(tensors)) {
            return;
        }
        const char* odd =
            tensors.is_indefinite ? "an item of indefinite length" : find_odd_head(cursor.passed_since(0), position);
        while (odd == nullptr && cursor.next(tensors) && cursor.enter_map(fields)) {
            while (odd == nullptr && cursor.next(fields)) {
                const size_t start = cursor.position();
                cursor.skip();
                cursor.skip();
                odd = find_odd_head(cursor.passed_since(start), position);
                position += start;
            }
        }
        tell_of_head(odd, position);
    }

    void tell_of_head(const char* odd, size_t position) {
        if (odd != nullptr) {
            tell(
                lint_kind::non_canonical_cbor, {}, {},
                sentence("byte {} of the index starts {}: others may encode the same file otherwise", {position, odd}));
        }
    }

    // -- names

    /// Of 0.1 the objects stand in the order of adding.
    void look_at_order() {
        const manifest& index = file_.index;
        string_view before;
        for (size_t i = 0; i < index.objects.size(); ++i) {
            const object_record& object = index.objects[i];
            const string_view own = index.text(object.name);
            if (i != 0 && own < before && index.version != version::v0_1) {
                return tell(lint_kind::unsorted_names, own, {},
                            sentence("the object {} stands behind {}", {in_quotes(own), in_quotes(before)}));
            }
            before = own;
            string_view role_before;
            for (const component_record& component : index.components_of(object)) {
                const string_view role = role_name(index, component);
                if (role < role_before) {
                    return tell(
                        lint_kind::unsorted_names, own, role,
                        sentence("the component {} stands behind {}", {in_quotes(role), in_quotes(role_before)}));
                }
                role_before = role;
            }
            if (index.version != version::v0_1 && are_unsorted(own, attributes_of(index, object))) {
                return;
            }
        }
        if (index.has_attributes) {
            static_cast<void>(are_unsorted({}, attributes_view(index.from(index.attributes))));
        }
    }

    [[nodiscard]] bool are_unsorted(string_view object, const attributes_view& attributes) {
        string_view before;
        for (const attribute& each : attributes) {
            if (each.key < before) {
                tell(lint_kind::unsorted_names, object, {},
                     sentence("the attribute {} stands behind {}", {in_quotes(each.key), in_quotes(before)}));
                return true;
            }
            before = each.key;
        }
        return false;
    }

    // -- blobs

    struct blob {
        uint64_t offset;
        uint64_t length;
        uint32_t object;
        uint32_t component; ///< in its object
    };

    [[nodiscard]] vector<blob> blobs_in_order() const {
        vector<blob> all;
        const manifest& index = file_.index;
        for (uint32_t i = 0; i < index.objects.size(); ++i) {
            uint32_t position = 0;
            for (const component_record& each : index.components_of(index.objects[i])) {
                if (each.length != 0 && shard_of(index, each) == nullptr) {
                    all.push_back({each.offset, each.length, i, position});
                }
                ++position;
            }
        }
        const auto is_before = [](const blob& a, const blob& b) {
            return a.offset != b.offset   ? a.offset < b.offset
                   : a.object != b.object ? a.object < b.object
                                          : a.component < b.component;
        };
        std::sort(all.begin(), all.end(), is_before);
        return all;
    }

    [[nodiscard]] string_view name_of(const blob& of) const noexcept { return file_.index.name_of(of.object); }
    [[nodiscard]] string_view role_of(const blob& of) const noexcept {
        return role_name(file_.index, file_.index.components_of(file_.index.objects[of.object])[of.component]);
    }

    result<void> look_between_blobs() {
        if (file_.index.is_data_shard) { // of which only its root says what is in it
            return {};
        }
        const uint64_t blobs_end = file_.index_offset;
        uint64_t end = 8; // behind the magic
        const vector<blob> all = blobs_in_order();
        for (size_t i = 0; i < all.size() && is_wanted(); ++i) {
            if (i != 0 && all[i].offset == all[i - 1].offset) {
                tell(lint_kind::shared_blob, name_of(all[i]), role_of(all[i]),
                     sentence("its bytes are those of the object {}, component {}",
                              {in_quotes(name_of(all[i - 1])), in_quotes(role_of(all[i - 1]))}));
                continue;
            }
            const uint64_t alignment = all[i].offset & (~all[i].offset + 1); // any that a writer may have chosen
            ZTENSOR_TRY(look_at_gap(end, all[i].offset, alignment));
            end = all[i].offset + all[i].length;
        }
        // A file without blobs may have the first place of one before its index, which in version 2 is a blob itself.
        const bool is_blob = file_.index.version == version::v2;
        const uint64_t alignment = is_blob ? blobs_end & (~blobs_end + 1) : blob_alignment;
        return is_wanted() ? look_at_gap(end, blobs_end, alignment) : result<void>();
    }

    result<void> look_at_gap(uint64_t begin, uint64_t end, uint64_t alignment) {
        if (begin >= end) {
            return {};
        }
        if (end - begin >= alignment) {
            tell(lint_kind::unreferenced_bytes, {}, {},
                 sentence("{} bytes from byte {} on belong to no blob, more than padding takes", {end - begin, begin}));
            return {};
        }
        for (uint64_t at = begin; at < end;) {
            ZTENSOR_TRY_ASSIGN(const bytes_view there, bytes_from(at));
            const bytes_view piece = there.first(static_cast<size_t>((std::min<uint64_t>)(there.size(), end - at)));
            const byte* const odd = std::find_if(piece.begin(), piece.end(), [](byte b) { return b != byte{}; });
            if (odd != piece.end()) {
                tell(lint_kind::nonzero_padding, {}, {},
                     sentence("byte {} is padding, and not zero", {at + static_cast<uint64_t>(odd - piece.begin())}));
                return {};
            }
            at += piece.size();
        }
        return {};
    }

    /// Bytes of the file itself from there on, be it behind an index of version 2: many small gaps lie in one piece.
    result<bytes_view> bytes_from(uint64_t at) {
        if (at < piece_begin_ || at - piece_begin_ >= piece_bytes_) {
            piece_begin_ = at;
            piece_bytes_ = static_cast<size_t>((std::min<uint64_t>)(sizeof piece_, file_.file_bytes - at));
            ZTENSOR_TRY(file_.source->read_at(at, {piece_, piece_bytes_}));
        }
        return bytes_view(piece_, piece_bytes_).subspan(static_cast<size_t>(at - piece_begin_));
    }

    const opened_file& file_;
    vector<lint_finding>& found_;
    bool wants_all_;
    uint64_t piece_begin_ = 0;
    size_t piece_bytes_ = 0;
    byte piece_[4096] = {};
};

[[nodiscard]] inline errc strict_code(lint_kind kind) noexcept {
    switch (kind) {
    case lint_kind::non_canonical_cbor:
        return errc::strict_encoding;
    case lint_kind::unsorted_names:
        return errc::strict_order;
    case lint_kind::shared_blob:
        return errc::strict_alias;
    default:
        return errc::strict_gap;
    }
}

/// What read_options::strict() asks of the file that is being opened. Errors: strict_encoding, strict_order,
/// strict_gap, strict_alias; what the source says.
ZTENSOR_COLD inline result<void> check_strictly(const opened_file& file) {
    vector<lint_finding> found;
    ZTENSOR_TRY(index_audit(file, found, false).run());
    if (found.empty()) {
        return {};
    }
    lint_finding& first = found.front();
    return error(strict_code(first.kind), std::move(first.sentence))
        .in_object(first.object)
        .in_component(first.component);
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
