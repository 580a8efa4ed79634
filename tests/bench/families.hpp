// SPDX-License-Identifier: MIT
//
// Indices of kinds that cost a reader more than plain ones, or could: by the kind and the size, whole files in memory.
#ifndef ZTENSOR_TESTS_BENCH_FAMILIES_HPP
#define ZTENSOR_TESTS_BENCH_FAMILIES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bench {

/// Just enough CBOR; shares no code with the library's writer.
namespace cbor {

inline std::string head(unsigned major, std::uint64_t value) {
    const int size = value < 24 ? 0 : value <= 0xff ? 1 : value <= 0xffff ? 2 : value <= 0xffffffff ? 4 : 8;
    const unsigned info = size == 0   ? static_cast<unsigned>(value)
                          : size == 1 ? 24U
                          : size == 2 ? 25U
                          : size == 4 ? 26U
                                      : 27U;
    std::string out(1, static_cast<char>(major << 5 | info));
    for (int i = size; i-- > 0;) {
        out += static_cast<char>(value >> 8 * i & 0xff);
    }
    return out;
}
inline std::string number(std::uint64_t value) {
    return head(0, value);
}
inline std::string text(std::string_view value) {
    return head(3, value.size()).append(value);
}
inline std::string key(std::string_view name, const std::string& value) {
    return text(name) + value;
}
inline std::string map(std::size_t pairs, const std::string& content) {
    return head(5, pairs) + content;
}
inline std::string shape(const std::vector<std::uint64_t>& dimensions) {
    std::string out = head(4, dimensions.size());
    for (const std::uint64_t each : dimensions) {
        out += number(each);
    }
    return out;
}

} // namespace cbor

/// What an index is made of: each object's name, and what stands behind it.
struct family {
    const char* name;
    std::string (*object_name)(std::size_t object);
    std::string (*object)(std::size_t object);
    bool is_shuffled;
    const char* version; ///< "1.0" and "0.1", whose indices have another form, or a later one
};

namespace families {

inline std::uint64_t next_offset(std::size_t blob) {
    return 64 * (blob + 1);
}

inline std::string layer_name(std::size_t object) {
    return "model.layers." + std::to_string(object + 10'000'000) + ".self_attn.q_proj.weight";
}
inline std::string long_name(std::size_t object) {
    return std::string(200, 'x') + std::to_string(object + 10'000'000);
}
inline std::string short_name(std::size_t object) {
    return std::to_string(object + 10'000'000);
}

/// Names whose hashes by std::hash differ in none of their lowest eight bits: a table that goes by these, as one of
/// another's library may, has one place in 256 for all of them.
inline std::string colliding_name(std::size_t object) {
    static std::vector<std::string> names;
    static std::size_t tried = 0;
    while (names.size() <= object) {
        std::string name = layer_name(tried++);
        if ((std::hash<std::string>()(name) & 0xff) == 0) {
            names.push_back(std::move(name));
        }
    }
    return names[object];
}

inline std::string component(std::string_view dtype, std::uint64_t offset, std::uint64_t length) {
    using namespace cbor;
    return map(3, key("dtype", text(dtype)) + key("offset", number(offset)) + key("length", number(length)));
}
inline std::string object_of(const std::string& shape, std::string_view format, const std::string& components) {
    using namespace cbor;
    return map(3, key("shape", shape) + key("format", text(format)) + key("components", components));
}
inline std::string dense(std::size_t object) {
    using namespace cbor;
    return object_of(shape({2, 2}), "dense", map(1, key("data", component("f32", next_offset(object), 16))));
}
inline std::string dense_1_0(std::size_t object) {
    using namespace cbor;
    const std::string data = map(2, key("offset", number(next_offset(object))) + key("length", number(16)));
    return map(4, key("dtype", text("float32")) + key("shape", shape({2, 2})) + key("format", text("dense")) +
                      key("components", map(1, key("data", data))));
}
/// In a map of indefinite length, as the reference writes them.
inline std::string dense_0_1(std::size_t object) {
    using namespace cbor;
    return "\xbf" + key("name", text(layer_name(object))) + key("offset", number(next_offset(object))) +
           key("size", number(16)) + key("dtype", text("float32")) + key("layout", text("dense")) +
           key("shape", shape({2, 2})) + key("encoding", text("raw")) + key("data_endianness", text("little")) +
           key("note", text("x")) + "\xff";
}
inline std::string zstd_with_digest(std::size_t object) {
    using namespace cbor;
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(object * 2654435761U));
    const std::string data =
        map(6, key("dtype", text("bf16")) + key("offset", number(next_offset(object))) + key("length", number(20)) +
                   key("uncompressed_length", number(64)) + key("encoding", text("zstd")) +
                   key("digest", text(std::string("crc32c:") + digits)));
    return object_of(shape({4, 8}), "dense", map(1, key("data", data)));
}
inline std::string csr(std::size_t object) {
    using namespace cbor;
    const std::size_t first = 3 * object;
    return object_of(shape({2, 5}), "sparse_csr",
                     map(3, key("values", component("f32", next_offset(first), 12)) +
                                key("indices", component("u64", next_offset(first + 1), 24)) +
                                key("indptr", component("u64", next_offset(first + 2), 24))));
}
inline std::string of_64_dimensions(std::size_t object) {
    using namespace cbor;
    std::vector<std::uint64_t> dimensions(64, 1);
    dimensions[object % 64] = 4;
    return object_of(shape(dimensions), "dense", map(1, key("data", component("f32", next_offset(object), 16))));
}
inline std::string of_64_wide_dimensions(std::size_t object) {
    using namespace cbor;
    std::string dimensions = head(4, 64);
    for (std::size_t i = 0; i < 64; ++i) {
        dimensions += "\x19" + std::string(1, '\0') + static_cast<char>(i == object % 64 ? 4 : 1);
    }
    return object_of(dimensions, "dense", map(1, key("data", component("f32", next_offset(object), 16))));
}
/// Names that are in no order.
inline std::string scattered(std::size_t i) {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(i + 1) * 0x9E3779B97F4A7C15ULL);
    return digits;
}
template <bool IsSorted>
std::string of_4000_components(std::size_t object) {
    using namespace cbor;
    constexpr std::size_t count = 4000;
    std::string components;
    for (std::size_t i = 0; i < count; ++i) {
        components += key(IsSorted ? "expert." + std::to_string(1000 + i) : scattered(i),
                          component("f32", next_offset(object * count + i), 16));
    }
    return object_of(shape({2, 2}), "experts", head(5, count) + components);
}
inline std::string with_unknown_keys(std::size_t object) {
    using namespace cbor;
    constexpr std::size_t count = 1000;
    std::string pairs = key("shape", shape({2, 2})) + key("format", text("dense"));
    for (std::size_t i = 0; i < count; ++i) {
        pairs += key(scattered(i), number(i));
    }
    pairs += key("components", map(1, key("data", component("f32", next_offset(object), 16))));
    return map(count + 3, pairs);
}
template <bool IsSorted>
std::string with_attributes(std::size_t object) {
    using namespace cbor;
    constexpr std::size_t count = 1000;
    std::string pairs;
    for (std::size_t i = 0; i < count; ++i) {
        pairs += key(IsSorted ? "attribute." + std::to_string(1000 + i) : scattered(i), number(i));
    }
    return map(4, key("shape", shape({2, 2})) + key("format", text("dense")) +
                      key("attributes", head(5, count) + pairs) +
                      key("components", map(1, key("data", component("f32", next_offset(object), 16)))));
}
/// Each encoded in a way of its own.
inline std::string in_some_key_order(std::size_t object) {
    using namespace cbor;
    std::vector<std::string> fields = {
        key("dtype", text("f32")), key("type", text("f32")),     key("offset", number(next_offset(object))),
        key("length", number(16)), key("encoding", text("raw")), key("uncompressed_length", number(16)),
    };
    std::mt19937 dice(static_cast<unsigned>(object));
    std::shuffle(fields.begin(), fields.end(), dice);
    std::string component = head(5, fields.size());
    for (const std::string& each : fields) {
        component += each;
    }
    return object_of(shape({2, 2}), "dense", map(1, key("data", component)));
}

/// Types, ranks, digests and encodings of all kinds, side by side.
inline std::string of_some_kind(std::size_t object) {
    using namespace cbor;
    constexpr std::string_view types[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16",
                                          "i8",  "u64", "u32", "u16",  "u8",  "bool"};
    constexpr std::uint64_t widths[] = {8, 4, 2, 2, 8, 4, 2, 1, 8, 4, 2, 1, 1};
    std::mt19937 dice(static_cast<unsigned>(object));
    const std::size_t type = dice() % 13;
    std::vector<std::uint64_t> dimensions(1 + dice() % 6, 1);
    dimensions[0] = 4;
    std::string fields = key("dtype", text(types[type])) + key("offset", number(next_offset(object))) +
                         key("length", number(4 * widths[type]));
    const bool has_encoding = dice() % 2 == 0, has_digest = dice() % 2 == 0;
    fields += has_encoding ? key("encoding", text("raw")) : "";
    fields += has_digest ? key("digest", text("crc32c:0x00112233")) : "";
    const std::size_t count = std::size_t{3} + has_encoding + has_digest;
    return object_of(shape(dimensions), "dense", map(1, key("data", map(count, fields))));
}
inline std::string with_three_attributes(std::size_t object) {
    using namespace cbor;
    const std::string attributes = key("layer", number(object)) + key("note", text(std::to_string(object % 1000))) +
                                   key("heads", number(object % 64));
    return map(4, key("shape", shape({2, 2})) + key("format", text("dense")) + key("attributes", map(3, attributes)) +
                      key("components", map(1, key("data", component("f32", next_offset(object), 16)))));
}
inline std::string name_in_chinese(std::size_t object) {
    return "\xe6\xa8\xa1\xe5\x9e\x8b." + std::to_string(object + 10'000'000) + ".\xe6\x9d\x83\xe9\x87\x8d";
}

inline constexpr family all[] = {
    {"dense, names in order", layer_name, dense, false, "1.2.0"},
    {"names in no order", layer_name, dense, true, "1.2.0"},
    {"names of 208 bytes, 200 of them equal", long_name, dense, false, "1.2.0"},
    {"the same in no order", long_name, dense, true, "1.2.0"},
    {"names whose hashes collide, in no order", colliding_name, dense, true, "1.2.0"},
    {"zstd with a digest", layer_name, zstd_with_digest, false, "1.2.0"},
    {"sparse_csr", layer_name, csr, false, "1.2.0"},
    {"sparse_csr, short names in no order", short_name, csr, true, "1.2.0"},
    {"64 dimensions", layer_name, of_64_dimensions, false, "1.2.0"},
    {"64 dimensions of three bytes", layer_name, of_64_wide_dimensions, false, "1.2.0"},
    {"4,000 components", layer_name, of_4000_components<true>, false, "1.2.0"},
    {"4,000 components in no order", layer_name, of_4000_components<false>, false, "1.2.0"},
    {"1,000 unknown keys in no order", layer_name, with_unknown_keys, false, "1.2.0"},
    {"1,000 attributes", layer_name, with_attributes<true>, false, "1.2.0"},
    {"1,000 attributes in no order", layer_name, with_attributes<false>, false, "1.2.0"},
    {"fields in a new order each time", layer_name, in_some_key_order, false, "1.2.0"},
    {"dense of some type, rank, digest and encoding", layer_name, of_some_kind, false, "1.2.0"},
    {"three attributes of each object", layer_name, with_three_attributes, false, "1.2.0"},
    {"names that are not ASCII", name_in_chinese, dense, false, "1.2.0"},
    {"dense of 1.0", layer_name, dense_1_0, false, "1.0"},
    {"dense of 0.1", layer_name, dense_0_1, false, "0.1"},
};

} // namespace families

/// A file whose index takes about `index_bytes`, behind blobs of zeros that nobody reads.
inline std::vector<std::byte> make_family(const family& from, std::size_t index_bytes) {
    using namespace cbor;
    const bool is_0_1 = std::string_view(from.version) == "0.1";
    const bool is_1_0 = std::string_view(from.version) == "1.0";
    const auto encoded = [&](std::size_t object) {
        return (is_0_1 ? std::string() : text(from.object_name(object))) + from.object(object);
    };
    const std::size_t count = std::max<std::size_t>(1, index_bytes / encoded(0).size());
    std::vector<std::string> objects;
    for (std::size_t object = 0; object < count; ++object) {
        objects.push_back(encoded(object));
    }
    if (from.is_shuffled) {
        std::shuffle(objects.begin(), objects.end(), std::mt19937(7));
    }
    std::string index = is_0_1 ? head(4, count)
                               : head(5, 2) + key("version", text(from.version)) +
                                     text(is_1_0 ? "tensors" : "objects") + head(5, count);
    for (const std::string& each : objects) {
        index += each;
    }
    const std::size_t blobs = count * (from.object == families::csr ? 3 : index_bytes / count > 50'000 ? 4000 : 1);
    std::string file = is_0_1 ? "ZTEN0001" : "ZTEN1000";
    file.resize(families::next_offset(blobs));
    file += index;
    for (int i = 0; i < 8; ++i) {
        file += static_cast<char>(index.size() >> 8 * i & 0xff);
    }
    file += is_0_1 || is_1_0 ? "" : "ZTEN1000";
    std::vector<std::byte> out(file.size());
    std::memcpy(out.data(), file.data(), file.size());
    return out;
}

} // namespace bench

#endif
