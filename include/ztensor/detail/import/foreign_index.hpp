// SPDX-License-Identifier: MIT
//
// The index that is made of another format's header.
#ifndef ZTENSOR_DETAIL_IMPORT_FOREIGN_INDEX_HPP
#define ZTENSOR_DETAIL_IMPORT_FOREIGN_INDEX_HPP

#include <ztensor/attributes.hpp>
#include <ztensor/detail/base/array.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/detail/base/text.hpp>
#include <ztensor/detail/cbor/encoder.hpp>
#include <ztensor/detail/index/scan.hpp>
#include <ztensor/detail/index/words.hpp>
#include <ztensor/detail/index/write.hpp>
#include <ztensor/findings.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

// -- name hashes
//
// Which names were met before, in 8 bytes each. Two names of one hash are taken for one: of a million names two are
// with a chance of one in forty millions.

class name_hashes {
public:
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

    /// False if it was met before.
    [[nodiscard]] bool insert(std::string_view name) {
        if (4 * (count_ + 1) > 3 * slots_.size()) {
            grow();
        }
        return insert_hash(hash_of(name));
    }

private:
    /// FNV-1a, of 64 bits. Never 0, which is an empty slot.
    [[nodiscard]] static std::uint64_t hash_of(std::string_view name) noexcept {
        std::uint64_t hash = 0xcbf29ce484222325;
        for (const char each : name) {
            hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3;
        }
        return hash != 0 ? hash : 1;
    }
    [[nodiscard]] bool insert_hash(std::uint64_t hash) noexcept {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(hash ^ hash >> 32) & mask;
        for (; slots_[at] != 0; at = (at + 1) & mask) {
            if (slots_[at] == hash) {
                return false;
            }
        }
        slots_[at] = hash;
        ++count_;
        return true;
    }
    void grow() {
        constexpr std::size_t least_slots = 64;
        const std::vector<std::uint64_t> before =
            std::exchange(slots_, std::vector<std::uint64_t>(slots_.empty() ? least_slots : 2 * slots_.size()));
        count_ = 0;
        for (const std::uint64_t each : before) {
            if (each != 0) {
                static_cast<void>(insert_hash(each));
            }
        }
    }

    std::vector<std::uint64_t> slots_; ///< a power of two of them
    std::size_t count_ = 0;
};

// -- foreign index
//
// What an importer makes of a foreign header: our own index, as 1.2 would have it. Whatever it says is checked when it
// is read, as that of a .zt file is. Knows no foreign format.

/// A range of the source, and what its bytes are. Borrows; only for the length of a call.
struct foreign_component {
    std::string_view role = "data";
    std::string_view dtype; ///< in the words of 1.2
    std::string_view type;  ///< a logical type; "" for none
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::string_view digest; ///< "" for none
    bool is_big_endian = false;
};

/// Takes in objects and attributes in any order; names and keys that stand twice are found when the index is read.
class foreign_index {
public:
    /// A dense object.
    void add(std::string_view name, span<const std::uint64_t> dimensions, const foreign_component& data) {
        add(name, dimensions, "dense", {&data, 1}, nullptr);
    }
    /// An object of any format; `of_object` may be null.
    void add(std::string_view name, span<const std::uint64_t> dimensions, std::string_view format,
             span<const foreign_component> components, const attributes* of_object) {
        ++object_count_;
        objects_.text(name);
        objects_.begin_map(of_object != nullptr ? 4 : 3);
        objects_.text("shape");
        objects_.begin_array(dimensions.size());
        for (const std::uint64_t dimension : dimensions) {
            objects_.unsigned_integer(dimension);
        }
        objects_.text("format");
        objects_.text(format);
        if (of_object != nullptr) {
            objects_.text("attributes");
            encode_attributes(objects_, *of_object);
        }
        objects_.text("components");
        objects_.begin_map(components.size());
        for (const foreign_component& each : components) {
            encode(each);
        }
    }

    /// An attribute of the file: its key; the caller appends the value, one item, to what this gives.
    [[nodiscard]] cbor_encoder& attribute(std::string_view key) {
        ++attribute_count_;
        attributes_.text(key);
        return attributes_;
    }
    /// The file has attributes, be they none.
    void has_attributes() noexcept { has_attributes_ = true; }

    /// Something that becomes neither an object nor an attribute, and why: see skipped_item.
    void skip(std::string_view name, std::string_view where, std::string why) {
        skipped_.push_back({utf8_of(name), utf8_of(where), std::move(why)});
    }
    /// All that was skipped, which goes to imported::skipped.
    [[nodiscard]] std::vector<skipped_item> take_skipped() noexcept { return std::move(skipped_); }

    /// Where the object that is added next will stand, and the name of one that stands there.
    [[nodiscard]] std::size_t next_place() const noexcept { return objects_.size(); }
    [[nodiscard]] std::string_view name_at(std::size_t place) const noexcept {
        cbor_text name;
        cbor_cursor(objects_.bytes().subspan(place)).read_text(name);
        return name.text;
    }

    /// Bytes that the index takes so far, for importers whose headers could grow in it.
    [[nodiscard]] std::size_t bytes() const noexcept { return objects_.size() + attributes_.size(); }

    /// All of it, encoded. Errors: manifest_too_large, out_of_memory.
    [[nodiscard]] ZTENSOR_COLD result<byte_buffer> finish(std::uint64_t max_manifest_bytes) const {
        const bool has_any = has_attributes_ || attribute_count_ != 0;
        cbor_encoder start;
        start.begin_map(has_any ? 3 : 2);
        start.text("version");
        start.text(text_of(format_version::v1_2));
        if (has_any) {
            start.text("attributes");
            start.begin_map(attribute_count_);
            start.encoded(attributes_.bytes());
        }
        start.text("objects");
        start.begin_map(object_count_);
        constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30; // positions in an index have 32 bits
        const std::uint64_t size = std::uint64_t{start.size()} + objects_.size();
        if (size > (std::min)(most_bytes, max_manifest_bytes)) {
            return fail(errc::manifest_too_large, "the index of the file takes {} bytes, more than the {} allowed",
                        {size, (std::min)(most_bytes, max_manifest_bytes)});
        }
        byte_buffer index;
        if (!index.allocate(static_cast<std::size_t>(size), scan_reach_bytes)) {
            return fail(errc::out_of_memory, "no memory for an index of {} bytes", {size});
        }
        std::memcpy(index.data(), start.bytes().data(), start.size());
        if (objects_.size() != 0) {
            std::memcpy(index.data() + start.size(), objects_.bytes().data(), objects_.size());
        }
        return index;
    }

private:
    [[nodiscard]] static std::string utf8_of(std::string_view text) {
        if (is_utf8(text)) {
            return std::string(text);
        }
        constexpr char digits[] = "0123456789abcdef";
        std::string escaped;
        for (const char each : text) {
            const auto byte = static_cast<unsigned char>(each);
            if (byte < 0x80) {
                escaped += each;
            } else {
                escaped += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
            }
        }
        return escaped;
    }

    void encode(const foreign_component& component) {
        const bool has_type = !component.type.empty();
        const bool has_digest = !component.digest.empty();
        objects_.text(component.role);
        objects_.begin_map(std::uint64_t{3} + has_type + has_digest);
        objects_.text("dtype");
        if (component.is_big_endian) {
            char word[16] = {big_endian_mark};
            const std::size_t size = (std::min)(component.dtype.size(), sizeof word - 1);
            std::copy_n(component.dtype.data(), size, word + 1);
            objects_.text({word, size + 1});
        } else {
            objects_.text(component.dtype);
        }
        if (has_type) {
            objects_.text("type");
            objects_.text(component.type);
        }
        objects_.text("offset");
        objects_.unsigned_integer(component.offset);
        objects_.text("length");
        objects_.unsigned_integer(component.length);
        if (has_digest) {
            objects_.text("digest");
            objects_.text(component.digest);
        }
    }

    cbor_encoder objects_;
    cbor_encoder attributes_;
    std::vector<skipped_item> skipped_;
    std::uint64_t object_count_ = 0;
    std::uint64_t attribute_count_ = 0;
    bool has_attributes_ = false;
};

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
