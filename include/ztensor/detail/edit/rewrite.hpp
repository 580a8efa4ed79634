// SPDX-License-Identifier: MIT
//
// What stands for an object in a manifest, written anew with other places, another name or other attributes. All else
// stays byte for byte, unknown fields too. The manifest has been validated.
#ifndef ZTENSOR_DETAIL_EDIT_REWRITE_HPP
#define ZTENSOR_DETAIL_EDIT_REWRITE_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/edit/old_file.hpp>
#include <ztensor/detail/manifest/write.hpp>
#include <ztensor/span.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

/// Blobs that have moved.
struct moved_blob {
    std::uint64_t offset;
    std::uint64_t length;
    std::uint64_t new_offset = 0;

    [[nodiscard]] friend bool operator<(const moved_blob& a, const moved_blob& b) noexcept {
        return a.offset != b.offset ? a.offset < b.offset : a.length < b.length;
    }
    [[nodiscard]] friend bool operator==(const moved_blob& a, const moved_blob& b) noexcept {
        return a.offset == b.offset && a.length == b.length;
    }
};

/// What is to be other than it was.
struct object_changes {
    const std::vector<moved_blob>* moved = nullptr; ///< sorted
    const attributes* new_attributes = nullptr;     ///< null: none
    bool changes_attributes = false;
    span<const std::string_view> fields_0_1; ///< the keys that are no attributes
    std::string_view name_0_1;
};

class object_rewriter {
public:
    object_rewriter(bytes_view value, const object_changes& changes) noexcept : value_(value), changes_(changes) {}

    /// 1.x: the map behind the name.
    void rewrite_1(cbor_encoder& out) const {
        cbor_encoder pairs;
        std::size_t count = 0;
        cbor_cursor cursor(value_);
        for_each_pair(cursor, [&](const std::string& key, std::size_t begin, std::size_t value) {
            if (key == "attributes" && changes_.changes_attributes) {
                cursor.skip();
                return;
            }
            if (key == "components" && changes_.new_attributes != nullptr) {
                pairs.text("attributes");
                encode_attributes(pairs, *changes_.new_attributes);
                ++count;
            }
            ++count;
            if (key == "components") {
                pairs.encoded(cursor.passed_since(begin));
                rewrite_components(cursor, pairs);
                return;
            }
            static_cast<void>(value);
            cursor.skip();
            pairs.encoded(cursor.passed_since(begin));
        });
        out.begin_map(count);
        out.encoded(pairs.bytes());
    }

    /// 0.1: the whole map of the tensor.
    void rewrite_0_1(cbor_encoder& out) const {
        const std::optional<std::uint64_t> offset = new_offset(cbor_cursor(value_), "size");
        out.begin_indefinite_map();
        cbor_cursor cursor(value_);
        for_each_pair(cursor, [&](const std::string& key, std::size_t begin, std::size_t value) {
            const auto& fields = changes_.fields_0_1;
            const bool is_field = std::find(fields.begin(), fields.end(), key) != fields.end();
            const bytes_view head = cursor.passed_since(begin);
            cursor.skip();
            if (!is_field && changes_.changes_attributes) {
                return;
            }
            out.encoded(head);
            if (key == "name") {
                out.text(changes_.name_0_1);
            } else if (key == "offset" && offset) {
                out.unsigned_integer(*offset);
            } else {
                out.encoded(cursor.passed_since(value));
            }
        });
        if (changes_.new_attributes != nullptr) {
            for (const attributes::entry& each : changes_.new_attributes->values()) {
                out.text(each.key);
                out.encoded(each.cbor);
            }
        }
        out.end_indefinite();
    }

private:
    void rewrite_components(cbor_cursor& cursor, cbor_encoder& out) const {
        cbor_encoder pairs;
        std::size_t count = 0;
        for_each_pair(cursor, [&](const std::string&, std::size_t begin, std::size_t value) {
            pairs.encoded(cursor.passed_since(begin));
            cursor.skip();
            rewrite_component(cursor.passed_since(value), pairs);
            ++count;
        });
        out.begin_map(count);
        out.encoded(pairs.bytes());
    }

    void rewrite_component(bytes_view component, cbor_encoder& out) const {
        const std::optional<std::uint64_t> offset = new_offset(cbor_cursor(component), "length");
        cbor_encoder pairs;
        std::size_t count = 0;
        cbor_cursor cursor(component);
        for_each_pair(cursor, [&](const std::string& key, std::size_t begin, std::size_t) {
            const bytes_view head = cursor.passed_since(begin);
            cursor.skip();
            ++count;
            if (key == "offset" && offset) {
                pairs.encoded(head);
                pairs.unsigned_integer(*offset);
            } else {
                pairs.encoded(cursor.passed_since(begin));
            }
        });
        out.begin_map(count);
        out.encoded(pairs.bytes());
    }

    /// Of the component whose fields come next.
    [[nodiscard]] std::optional<std::uint64_t> new_offset(cbor_cursor cursor, std::string_view length_key) const {
        moved_blob old = {0, 0};
        for_each_pair(cursor, [&](const std::string& key, std::size_t, std::size_t) {
            if (key == "offset") {
                cursor.read_unsigned(old.offset);
            } else if (key == length_key) {
                cursor.read_unsigned(old.length);
            } else {
                cursor.skip();
            }
        });
        if (changes_.moved == nullptr) {
            return std::nullopt;
        }
        const auto found = std::lower_bound(changes_.moved->begin(), changes_.moved->end(), old);
        return found != changes_.moved->end() && *found == old ? std::optional(found->new_offset) : std::nullopt;
    }

    bytes_view value_;
    const object_changes& changes_;
};

/// Where the text of the digest of a single component stands within `value`, which is what stands for its object:
/// nothing where there is none, or one of chunks.
struct text_place {
    std::size_t begin = 0;
    std::size_t length = 0;
};
[[nodiscard]] inline text_place find_digest(bytes_view value, bool is_0_1) {
    text_place found;
    cbor_cursor cursor(value);
    const auto find = [&](std::string_view wanted) {
        for_each_pair(cursor, [&](const std::string& key, std::size_t, std::size_t start) {
            cbor_text text;
            if (key != wanted) {
                cursor.skip();
            } else if (cursor.read_text(text) && !text.is_chunked) {
                found.length = text.text.size();
                found.begin = cursor.position() - found.length;
            }
            static_cast<void>(start);
        });
    };
    if (is_0_1) {
        find("checksum");
        return found;
    }
    for_each_pair(cursor, [&](const std::string& key, std::size_t, std::size_t) {
        if (key != "components") {
            cursor.skip();
            return;
        }
        for_each_pair(cursor, [&](const std::string&, std::size_t, std::size_t) { find("digest"); });
    });
    return found;
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
