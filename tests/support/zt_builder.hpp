// SPDX-License-Identifier: MIT
//
// .zt files for tests, byte by byte: CBOR items in every form, right or wrong, zstd frames, containers of every
// generation, and a small file of which any field can be changed. Shares no code with the library's writers.
#ifndef ZTENSOR_TESTS_SUPPORT_ZT_BUILDER_HPP
#define ZTENSOR_TESTS_SUPPORT_ZT_BUILDER_HPP

#include "support/temp_dir.hpp"

#include <ztensor/byte_source.hpp>
#include <ztensor/detail/cast.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

/// Encoded bytes; a string, because that is so easily put together.
using bytes = std::string;

/// In memory of exactly their size, so that a sanitizer sees the first byte read beyond.
[[nodiscard]] inline std::vector<std::byte> to_vector(std::string_view content) {
    const ztensor::bytes_view view = ztensor::detail::as_bytes(content);
    return {view.begin(), view.end()};
}

[[nodiscard]] inline bytes repeated(std::size_t count, std::string_view piece) {
    bytes out;
    out.reserve(count * piece.size());
    for (std::size_t i = 0; i < count; ++i) {
        out += piece;
    }
    return out;
}

[[nodiscard]] inline bytes big_endian(std::uint64_t value, std::size_t size) {
    bytes out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
        out[size - 1 - i] = static_cast<char>(value >> (8 * i) & 0xff);
    }
    return out;
}

[[nodiscard]] inline bytes little_endian(std::uint64_t value, std::size_t size) {
    bytes out = big_endian(value, size);
    std::reverse(out.begin(), out.end());
    return out;
}

// -- CBOR (RFC 8949)

namespace cbor {

enum class major : unsigned { unsigned_integer, negative_integer, byte_string, text, array, map, tag, simple };

/// A head with its argument in `size` bytes (1, 2, 4 or 8), or in the first byte itself (0).
[[nodiscard]] inline bytes head_of_size(major kind, std::uint64_t argument, std::size_t size) {
    const unsigned info = size == 0   ? static_cast<unsigned>(argument)
                          : size == 1 ? 24
                          : size == 2 ? 25
                          : size == 4 ? 26
                                      : 27;
    return bytes(1, static_cast<char>(static_cast<unsigned>(kind) << 5 | info)) + big_endian(argument, size);
}

/// The shortest head.
[[nodiscard]] inline bytes head(major kind, std::uint64_t argument) {
    const std::size_t size = argument < 24            ? 0
                             : argument <= 0xff       ? 1
                             : argument <= 0xffff     ? 2
                             : argument <= 0xffffffff ? 4
                                                      : 8;
    return head_of_size(kind, argument, size);
}

/// The first byte of an item of indefinite length, and what ends it.
[[nodiscard]] inline bytes indefinite_head(major kind) {
    return bytes(1, static_cast<char>(static_cast<unsigned>(kind) << 5 | 31));
}
inline const bytes stop = "\xff";

[[nodiscard]] inline bytes number(std::uint64_t value) {
    return head(major::unsigned_integer, value);
}
/// -1 - `value`.
[[nodiscard]] inline bytes minus_one_minus(std::uint64_t value) {
    return head(major::negative_integer, value);
}
[[nodiscard]] inline bytes text(std::string_view value) {
    return head(major::text, value.size()) + bytes(value);
}
[[nodiscard]] inline bytes byte_string(std::string_view value) {
    return head(major::byte_string, value.size()) + bytes(value);
}
[[nodiscard]] inline bytes tag(std::uint64_t number, std::string_view item) {
    return head(major::tag, number) + bytes(item);
}

inline const bytes no = "\xf4";
inline const bytes yes = "\xf5";
inline const bytes null = "\xf6";
inline const bytes undefined = "\xf7";
inline const bytes half_one = bytes("\xf9\x3c\x00", 3);               // 1.0 in 16 bits
inline const bytes single_one = bytes("\xfa\x3f\x80\x00\x00", 5);     // 1.0 in 32 bits
inline const bytes double_one = bytes("\xfb\x3f\xf0\0\0\0\0\0\0", 9); // 1.0 in 64 bits

[[nodiscard]] inline bytes joined(const std::vector<bytes>& items) {
    bytes out;
    for (const bytes& item : items) {
        out += item;
    }
    return out;
}

[[nodiscard]] inline bytes array(const std::vector<bytes>& items) {
    return head(major::array, items.size()) + joined(items);
}
[[nodiscard]] inline bytes indefinite_array(const std::vector<bytes>& items) {
    return indefinite_head(major::array) + joined(items) + stop;
}
[[nodiscard]] inline bytes numbers(const std::vector<std::uint64_t>& values) {
    bytes out = head(major::array, values.size());
    for (const std::uint64_t value : values) {
        out += number(value);
    }
    return out;
}

/// Text of indefinite length.
[[nodiscard]] inline bytes chunked(const std::vector<std::string_view>& chunks) {
    bytes out = indefinite_head(major::text);
    for (const std::string_view chunk : chunks) {
        out += text(chunk);
    }
    return out + stop;
}

/// A map in the making: encoded keys and values in their order. Keys may stand twice.
class map {
public:
    map() = default;
    map(std::initializer_list<std::pair<std::string_view, bytes>> pairs) {
        for (const auto& [key, value] : pairs) {
            add(text(key), value);
        }
    }

    /// Gives a text key another value where it stands, or appends both.
    map& set(std::string_view key, bytes value) {
        const auto at = find(key);
        if (at == pairs_.end()) {
            return add(text(key), std::move(value));
        }
        at->second = std::move(value);
        return *this;
    }
    /// Appends a pair, whatever its encoded key.
    map& add(bytes encoded_key, bytes value) {
        pairs_.emplace_back(std::move(encoded_key), std::move(value));
        return *this;
    }
    map& remove(std::string_view key) {
        if (const auto at = find(key); at != pairs_.end()) {
            pairs_.erase(at);
        }
        return *this;
    }
    /// Gives a text key another encoding where it stands.
    map& respell(std::string_view key, bytes encoded_key) {
        if (const auto at = find(key); at != pairs_.end()) {
            at->first = std::move(encoded_key);
        }
        return *this;
    }

    [[nodiscard]] bytes encoded() const { return head(major::map, pairs_.size()) + content(); }
    [[nodiscard]] bytes indefinite() const { return indefinite_head(major::map) + content() + stop; }
    operator bytes() const { return encoded(); }

private:
    using pair_list = std::vector<std::pair<bytes, bytes>>;

    [[nodiscard]] pair_list::iterator find(std::string_view key) {
        return std::find_if(pairs_.begin(), pairs_.end(), [&](const auto& pair) { return pair.first == text(key); });
    }
    [[nodiscard]] bytes content() const {
        bytes out;
        for (const auto& [key, value] : pairs_) {
            out += key + value;
        }
        return out;
    }

    pair_list pairs_;
};

/// An item inside `levels` arrays.
[[nodiscard]] inline bytes nested(std::size_t levels, std::string_view innermost = "\x01") {
    return repeated(levels, "\x81") + bytes(innermost);
}

} // namespace cbor

// -- zstd frames (RFC 8878), of which no compressor makes such as are wanted here

namespace zstd {

inline const bytes magic = "\x28\xb5\x2f\xfd";

[[nodiscard]] inline bytes block(unsigned type, std::size_t size, std::string_view content, bool is_last) {
    return little_endian(size << 3 | type << 1 | (is_last ? 1 : 0), 3) + bytes(content);
}
[[nodiscard]] inline bytes raw_block(std::string_view content, bool is_last = true) {
    return block(0, content.size(), content, is_last);
}
/// `count` (at most 128 Ki) times the same byte.
[[nodiscard]] inline bytes run_block(std::size_t count, char byte, bool is_last = true) {
    return block(1, count, std::string_view(&byte, 1), is_last);
}

/// A frame that does not state the size of its content, with a window of 2^`window_log` bytes.
[[nodiscard]] inline bytes frame(std::string_view blocks, unsigned window_log = 17) {
    return magic + bytes(1, '\0') + bytes(1, static_cast<char>((window_log - 10) << 3)) + bytes(blocks);
}
/// A frame of one raw block that states a size of its content, true or not (below 256).
[[nodiscard]] inline bytes sized_frame(std::string_view content, unsigned stated_size) {
    return magic + "\x20" + bytes(1, static_cast<char>(stated_size)) + raw_block(content);
}
/// Bytes that decode to nothing.
[[nodiscard]] inline bytes skippable_frame(std::string_view content) {
    return "\x53\x2a\x4d\x18" + little_endian(content.size(), 4) + bytes(content);
}

} // namespace zstd

// -- containers

inline constexpr std::string_view magic_1 = "ZTEN1000";
inline constexpr std::string_view magic_0_1 = "ZTEN0001";

/// Magic, blobs one after the other at multiples of 64, index, index size; the end of 1.1 and later has the magic too.
[[nodiscard]] inline bytes container(std::string_view magic, std::string_view index, const std::vector<bytes>& blobs,
                                     bool has_footer_magic) {
    bytes out(magic);
    for (const bytes& blob : blobs) {
        out.resize((out.size() + 63) / 64 * 64, '\0');
        out += blob;
    }
    return out + bytes(index) + little_endian(index.size(), 8) + (has_footer_magic ? bytes(magic) : bytes());
}
[[nodiscard]] inline bytes file_1(std::string_view index, const std::vector<bytes>& blobs = {}) {
    return container(magic_1, index, blobs, true);
}
[[nodiscard]] inline bytes file_1_0(std::string_view index, const std::vector<bytes>& blobs = {}) {
    return container(magic_1, index, blobs, false);
}
[[nodiscard]] inline bytes file_0_1(std::string_view index, const std::vector<bytes>& blobs = {}) {
    return container(magic_0_1, index, blobs, false);
}

/// A component to be put into a sample. dtype in the words of 1.1 and later.
struct part {
    std::string role;
    std::string dtype;
    std::uint64_t offset = 64;
    std::uint64_t length = 0;
    cbor::map more = {}; ///< other fields
};

/// A file of one object, to be changed field by field and then built: "w", dense, f32, of shape [2], with one component
/// "data" of the numbers 1 and 2, raw in the 8 bytes at offset 64. Fields and dtypes go by their names in 1.2; those of
/// the generation are put in their place. In 0.1, which has one map for all, all fields are in that.
class sample {
public:
    explicit sample(ztensor::generation generation = ztensor::generation::v1_2) : generation_(generation) {
        blobs_ = {little_endian(0x3f800000, 4) + little_endian(0x40000000, 4)};
        if (is_0_1()) {
            object_ = {{"name", cbor::text("w")},        {"offset", cbor::number(64)},    {"size", cbor::number(8)},
                       {"dtype", cbor::text("float32")}, {"layout", cbor::text("dense")}, {"shape", cbor::numbers({2})},
                       {"encoding", cbor::text("raw")}};
            return;
        }
        constexpr std::string_view versions[] = {"", "1.0", "1.1.0", "1.2.0"};
        root_ = {{"version", cbor::text(versions[static_cast<std::size_t>(generation)])}};
        object_ = {{"shape", cbor::numbers({2})}, {"format", cbor::text("dense")}};
        component_ = {{"offset", cbor::number(64)}, {"length", cbor::number(8)}};
        dtype("f32");
    }

    [[nodiscard]] ztensor::generation generation() const noexcept { return generation_; }
    [[nodiscard]] bool is_0_1() const noexcept { return generation_ == ztensor::generation::v0_1; }
    [[nodiscard]] bool is_1_0() const noexcept { return generation_ == ztensor::generation::v1_0; }

    /// The maps, for changes that are no change of a field.
    [[nodiscard]] cbor::map& root_map() noexcept { return is_0_1() ? object_ : root_; }
    [[nodiscard]] cbor::map& object_map() noexcept { return object_; }
    [[nodiscard]] cbor::map& component_map() noexcept { return is_0_1() ? object_ : component_; }

    sample& root(std::string_view key, bytes value) { return root_map().set(key, std::move(value)), *this; }
    sample& object(std::string_view key, bytes value) {
        return object_map().set(own_key(key), std::move(value)), *this;
    }
    sample& component(std::string_view key, bytes value) {
        return component_map().set(own_key(key), std::move(value)), *this;
    }
    /// Removes the field, wherever it stands.
    sample& without(std::string_view key) {
        for (cbor::map* const each : {&root_, &object_, &component_}) {
            each->remove(own_key(key));
        }
        removed_.emplace_back(key);
        return *this;
    }

    sample& dtype(std::string_view word) {
        (is_1_0() ? object_ : component_map()).set("dtype", cbor::text(own_dtype(word)));
        return *this;
    }
    sample& shape(const std::vector<std::uint64_t>& dimensions) { return object("shape", cbor::numbers(dimensions)); }
    /// Where the object's one component lies.
    sample& place(std::uint64_t offset, std::uint64_t length) {
        return component("offset", cbor::number(offset)).component("length", cbor::number(length));
    }
    /// The component's one blob, at offset 64, and its length.
    sample& blob(const bytes& content) {
        blobs_ = {content};
        return place(64, content.size());
    }
    /// A zstd blob that stands for `decoded_bytes` bytes.
    sample& zstd_blob(const bytes& frames, std::uint64_t decoded_bytes) {
        blob(frames).component("encoding", cbor::text("zstd"));
        return generation_ == ztensor::generation::v1_2 ? component("uncompressed_length", cbor::number(decoded_bytes))
                                                        : *this;
    }
    /// All blobs, the first at 64 and each other at the next multiple of 64.
    sample& blobs(std::vector<bytes> contents) { return blobs_ = std::move(contents), *this; }
    /// Other components instead of "data"; not in 0.1. In 1.0 components have no dtype.
    sample& parts(std::string_view format, const std::vector<std::uint64_t>& dimensions, const std::vector<part>& all) {
        cbor::map components;
        for (const part& each : all) {
            cbor::map fields = each.more;
            if (!is_1_0()) {
                fields.set("dtype", cbor::text(each.dtype));
            }
            fields.set("offset", cbor::number(each.offset)).set("length", cbor::number(each.length));
            components.add(cbor::text(each.role), fields);
        }
        return object("format", cbor::text(format)).shape(dimensions).components(components.encoded());
    }
    /// What stands as the map of components.
    sample& components(bytes item) { return components_ = std::move(item), *this; }
    /// What stands as the map (in 0.1 the array) of objects.
    sample& objects(bytes item) { return objects_ = std::move(item), *this; }

    /// The object as it stands in the map or array of objects, without its name.
    [[nodiscard]] bytes encoded_object() const {
        cbor::map out = object_;
        if (!is_0_1() && keeps("components")) {
            out.add(cbor::text("components"),
                    components_.empty() ? cbor::map{{"data", component_}}.encoded() : components_);
        }
        return out;
    }
    [[nodiscard]] bytes index() const {
        if (is_0_1()) {
            return objects_.empty() ? cbor::array({encoded_object()}) : objects_;
        }
        cbor::map out = root_;
        if (keeps("objects")) {
            out.add(cbor::text(is_1_0() ? "tensors" : "objects"),
                    objects_.empty() ? cbor::map{{"w", encoded_object()}}.encoded() : objects_);
        }
        return out;
    }
    [[nodiscard]] bytes file() const { return file_of(index()); }
    /// The container of this generation around any index.
    [[nodiscard]] bytes file_of(std::string_view index) const {
        return container(is_0_1() ? magic_0_1 : magic_1, index, blobs_, !is_0_1() && !is_1_0());
    }

private:
    [[nodiscard]] std::string own_key(std::string_view key) const {
        if (is_0_1()) {
            return key == "length"   ? "size"
                   : key == "digest" ? "checksum"
                   : key == "format" ? "layout"
                                     : std::string(key);
        }
        return std::string(key);
    }

    [[nodiscard]] std::string own_dtype(std::string_view word) const {
        constexpr std::pair<std::string_view, std::string_view> long_names[] = {
            {"f64", "float64"}, {"f32", "float32"}, {"f16", "float16"}, {"bf16", "bfloat16"},
            {"i64", "int64"},   {"i32", "int32"},   {"i16", "int16"},   {"i8", "int8"},
            {"u64", "uint64"},  {"u32", "uint32"},  {"u16", "uint16"},  {"u8", "uint8"}};
        for (const auto& [short_name, long_name] : long_names) {
            if ((is_0_1() || is_1_0()) && word == short_name) {
                return std::string(long_name);
            }
        }
        return std::string(word);
    }

    [[nodiscard]] bool keeps(std::string_view key) const {
        return std::find(removed_.begin(), removed_.end(), key) == removed_.end();
    }

    ztensor::generation generation_;
    cbor::map root_;
    cbor::map object_;
    cbor::map component_;
    bytes components_; ///< empty: the one component
    bytes objects_;    ///< empty: the one object
    std::vector<std::string> removed_;
    std::vector<bytes> blobs_;
};

// -- the ways to a file

struct opening {
    const char* way;
    bool is_path; ///< opened by its path, not from memory
    ztensor::result<ztensor::reader> file;
};

/// The same content from memory, from a mapped file and by positional reads.
[[nodiscard]] inline std::vector<opening> open_every_way(const bytes& content, const temp_dir& directory,
                                                         const ztensor::read_options& options = {}) {
    using ztensor::io_mode;
    using ztensor::reader;
    const std::filesystem::path path = directory / "file.zt";
    write_file(path, content);
    std::vector<opening> all;
    all.push_back({"memory", false, reader::from_bytes(to_vector(content), options)});
    all.push_back({"mapped", true, reader::open(path, ztensor::read_options(options).mode(io_mode::mapped))});
    all.push_back({"positional", true, reader::open(path, ztensor::read_options(options).mode(io_mode::positional))});
    return all;
}

/// Of any size, with content at both ends and zeros between, like a file with holes.
class source_with_holes final : public ztensor::byte_source {
public:
    source_with_holes(std::uint64_t size, bytes head, bytes tail)
        : size_(size), head_(std::move(head)), tail_(std::move(tail)) {}

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override {
        largest_read_ = std::max<std::uint64_t>(largest_read_, destination.size());
        for (std::size_t i = 0; i < destination.size(); ++i) {
            destination[i] = static_cast<std::byte>(byte_at(offset + i));
        }
        return {};
    }
    /// Bytes that one call asked for at most.
    [[nodiscard]] std::uint64_t largest_read() const noexcept { return largest_read_; }

private:
    [[nodiscard]] char byte_at(std::uint64_t position) const {
        const std::uint64_t tail_start = size_ - tail_.size();
        return position < head_.size()  ? head_[static_cast<std::size_t>(position)]
               : position >= tail_start ? tail_[static_cast<std::size_t>(position - tail_start)]
                                        : '\0';
    }

    std::uint64_t size_;
    bytes head_;
    bytes tail_;
    mutable std::uint64_t largest_read_ = 0;
};

} // namespace support

#endif
