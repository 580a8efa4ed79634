// SPDX-License-Identifier: MIT
//
// What stands for an object in an index, written anew.
#ifndef ZTENSOR_DETAIL_WRITE_OBJECT_REWRITER_HPP
#define ZTENSOR_DETAIL_WRITE_OBJECT_REWRITER_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/types.hpp>
#include <ztensor/detail/cbor/cursor.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/model.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/detail/write/old_file.hpp>
#include <ztensor/span.hpp>

#include <algorithm>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- rewrite
//
// What stands for an object in a manifest, written anew with other places, another name or other attributes. All else
// stays byte for byte, unknown fields too. The manifest has been validated.

/// Blobs that have moved.
struct moved_blob {
    uint64_t offset;
    uint64_t length;
    uint64_t new_offset = 0;

    [[nodiscard]] friend bool operator<(const moved_blob& a, const moved_blob& b) noexcept {
        return a.offset != b.offset ? a.offset < b.offset : a.length < b.length;
    }
    [[nodiscard]] friend bool operator==(const moved_blob& a, const moved_blob& b) noexcept {
        return a.offset == b.offset && a.length == b.length;
    }
};

/// What is to be other than it was.
struct object_changes {
    const vector<moved_blob>* moved = nullptr;  ///< sorted
    span<const component_record> parts;         ///< of the object, whose blobs may have moved
    bool is_version_2 = false;
    const attributes* new_attributes = nullptr; ///< null: none
    bool changes_attributes = false;
    span<const string_view> fields_0_1; ///< the keys that are no attributes
    string_view name_0_1;
};

/// The map that comes next, as `rewrite(key, begin, out) -> std::size_t` makes it: that passes over the value of the
/// pair that starts at `begin`, appends what is to stand there instead, and gives how many pairs these are.
template <class Rewrite>
void rewrite_map(cbor_cursor& cursor, cbor_encoder& out, const Rewrite& rewrite) {
    cbor_encoder pairs;
    size_t count = 0;
    for_each_pair(cursor, [&](const string& key, size_t begin) { count += rewrite(key, begin, pairs); });
    out.begin_map(count);
    out.encoded(pairs.bytes());
}

class object_rewriter {
public:
    object_rewriter(bytes_view value, const object_changes& changes) noexcept : cursor_(value), changes_(changes) {}

    /// The map behind the name. Of version 2 attributes stay: new ones would stand elsewhere among the keys.
    void rewrite_object(cbor_encoder& out) {
        rewrite_map(cursor_, out, [&](const string& key, size_t begin, cbor_encoder& pairs) -> size_t {
            if (key != (changes_.is_version_2 ? "parts" : "components")) {
                cursor_.skip();
                const bool is_dropped = key == "attributes" && changes_.changes_attributes;
                pairs.encoded(is_dropped ? bytes_view() : cursor_.passed_since(begin));
                return is_dropped ? 0 : 1;
            }
            const bytes_view head = cursor_.passed_since(begin);
            if (changes_.new_attributes != nullptr) {
                pairs.text("attributes");
                encode_attributes(pairs, *changes_.new_attributes);
            }
            pairs.encoded(head);
            rewrite_components(pairs);
            return changes_.new_attributes != nullptr ? 2 : 1;
        });
    }

    /// 0.1: the whole map of the tensor.
    void rewrite_tensor(cbor_encoder& out) {
        const moved_blob* const moved = moved_of(0);
        out.begin_indefinite_map();
        for_each_pair(cursor_, [&](const string& key, size_t begin) {
            const auto& fields = changes_.fields_0_1;
            const bool is_field = std::find(fields.begin(), fields.end(), key) != fields.end();
            const bytes_view head = cursor_.passed_since(begin);
            cursor_.skip();
            if (!is_field && changes_.changes_attributes) {
                return;
            }
            if (key == "name") {
                out.encoded(head);
                out.text(changes_.name_0_1);
            } else if (key == "offset" && moved != nullptr) {
                out.encoded(head);
                out.unsigned_integer(moved->new_offset);
            } else {
                out.encoded(cursor_.passed_since(begin));
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
    void rewrite_components(cbor_encoder& out) {
        size_t part = 0;
        rewrite_map(cursor_, out, [&](const string&, size_t begin, cbor_encoder& parts) -> size_t {
            parts.encoded(cursor_.passed_since(begin));
            const moved_blob* const moved = moved_of(part++);
            rewrite_map(cursor_, parts, [&](const string& key, size_t field, cbor_encoder& fields) {
                const bytes_view head = cursor_.passed_since(field);
                cursor_.skip();
                if (moved != nullptr && changes_.is_version_2 && key == "blob") {
                    fields.encoded(head);
                    fields.begin_array(2);
                    fields.unsigned_integer(moved->new_offset);
                    fields.unsigned_integer(moved->length);
                } else if (moved != nullptr && !changes_.is_version_2 && key == "offset") {
                    fields.encoded(head);
                    fields.unsigned_integer(moved->new_offset);
                } else {
                    fields.encoded(cursor_.passed_since(field));
                }
                return size_t{1};
            });
            return 1;
        });
    }

    /// The blob of a part, if it has moved.
    [[nodiscard]] const moved_blob* moved_of(size_t part) const {
        if (changes_.moved == nullptr) {
            return nullptr;
        }
        const moved_blob old = {changes_.parts[part].offset, changes_.parts[part].length};
        const auto found = std::lower_bound(changes_.moved->begin(), changes_.moved->end(), old);
        return found != changes_.moved->end() && *found == old ? &*found : nullptr;
    }

    cbor_cursor cursor_;
    const object_changes& changes_;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
