// SPDX-License-Identifier: MIT
//
// Objects of all kinds side by side, of which few are encoded like others: with templates they are read as without, in
// files of 1.1 and later and of 0.1.
#include "index/both_ways.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"

#include <ztensor/dtype.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace unlike_objects {

using support::bytes;
namespace cbor = support::cbor;
using field_values = std::vector<std::pair<std::string, bytes>>;

/// Draws what stands in an index. What makes a file unusual comes once in a hundred times; what makes it wrong, so
/// seldom that most indices have none of it.
class index_maker {
public:
    explicit index_maker(unsigned seed) : from_(seed) {}

    std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(from_); }
    bool one_in(std::size_t times) { return below(times) == 0; }
    bool unusual() { return one_in(100); }
    bool wrong() { return one_in(4000); }
    template <class T>
    const T& one_of(const std::vector<T>& all) {
        return all[below(all.size())];
    }
    template <class T>
    void shuffle(std::vector<T>& all) {
        std::shuffle(all.begin(), all.end(), from_);
    }

    bytes number(std::uint64_t value) {
        const std::size_t width = one_in(8) ? one_of<std::size_t>({1, 2, 4, 8}) : 0;
        const bool fits = width == 8 || (width != 0 && value >> (8 * width) == 0);
        if (wrong()) {
            return one_of<bytes>({cbor::text("1"), cbor::minus_one_minus(value), cbor::null, bytes("\x1c")});
        }
        return fits ? cbor::head_of_size(cbor::major::unsigned_integer, value, width) : cbor::number(value);
    }
    bytes text(std::string_view value) {
        if (wrong()) {
            return one_of<bytes>({cbor::text("\xff"), cbor::number(7), cbor::array({}), bytes("\x7b\xff\xff")});
        }
        return unusual()
                   ? cbor::head_of_size(cbor::major::text, value.size(), one_of<std::size_t>({1, 2})) + bytes(value)
               : unusual() ? cbor::chunked({value.substr(0, 1), value.substr(std::min<std::size_t>(1, value.size()))})
                           : cbor::text(value);
    }
    bytes map(field_values pairs, bool is_indefinite) {
        if (one_in(3)) {
            shuffle(pairs);
        }
        if (wrong() && !pairs.empty()) {
            pairs.push_back(one_of(pairs));
        }
        if (wrong() && !pairs.empty()) {
            pairs.pop_back();
        }
        if (wrong() && !pairs.empty()) {
            pairs[below(pairs.size())] = one_of(pairs);
        }
        cbor::map out;
        for (const auto& [key, value] : pairs) {
            out.add(text(key), value);
        }
        return is_indefinite ? out.indefinite() : out.encoded();
    }
    bytes digest() {
        const std::string algorithm = one_of<std::string>({"crc32c:", "crc32c:0x", "crc32c:0X", "sha256:", "xxh3:"});
        std::string value = algorithm;
        for (std::size_t left = algorithm == "sha256:" ? 64 : 8; left != 0; --left) {
            value += "0123456789abcdefABCDEF"[below(22)];
        }
        if (wrong()) {
            value[below(value.size())] = one_of<char>({'g', '/', ':', '@', 'G', '`', ' ', 'x', '1'});
        }
        return text(value);
    }

private:
    std::mt19937 from_;
};

/// A blob and the shape it is to fill.
struct plain_tensor {
    bytes shape;
    std::uint64_t elements = 1;
    std::uint64_t offset = 0;
};

plain_tensor any_tensor(index_maker& from, std::uint64_t offset) {
    plain_tensor made;
    std::vector<bytes> dimensions;
    for (std::size_t left = from.unusual() ? 30 : from.below(7); left != 0; --left) {
        const std::uint64_t dimension = from.unusual() ? 0 : dimensions.size() < 2 ? 1 + from.below(4) : 1;
        made.elements *= dimension;
        dimensions.push_back(from.number(dimension));
    }
    made.shape = from.unusual() ? cbor::indefinite_array(dimensions) : cbor::array(dimensions);
    made.offset = from.wrong() ? from.one_of<std::uint64_t>({0, 65, 64, both_ways::blobs_end}) : offset;
    return made;
}

std::string any_name(index_maker& from, std::size_t object) {
    static const std::vector<std::string> unusual = {"\xe6\xa8\xa1", std::string(300, 'y'), "#"};
    static const std::vector<std::string> wrong = {"", "\xff", std::string("a\0b", 3), std::string(5000, 'z')};
    const std::string number = std::to_string(1000 + (from.unusual() ? 999 - object : object));
    return from.wrong() ? from.one_of(wrong) : (from.unusual() ? from.one_of(unusual) : std::string("layer.")) + number;
}

bytes any_component(index_maker& from, const plain_tensor& of) {
    const ztensor::dtype_facts& row = ztensor::dtypes[from.below(ztensor::dtypes.size())];
    std::uint64_t decoded = of.elements * row.width_bytes + (from.wrong() ? 1 : 0);
    field_values pairs = {{"dtype", from.text(from.unusual() ? std::string_view("f128") : row.name)}};
    if (from.one_in(10)) {
        const std::size_t type = from.below(ztensor::logical_types.size());
        pairs.emplace_back("type", from.one_of<bytes>({cbor::null, from.text(row.name), cbor::text("mine"),
                                                       from.text(ztensor::logical_types[type].name)}));
        if (from.one_in(2)) { // which fits its storage
            pairs[0].second = from.text(ztensor::name(ztensor::logical_types[type].storage));
            pairs[1].second = from.text(ztensor::logical_types[type].name);
            decoded = of.elements * ztensor::width_bytes(ztensor::logical_types[type].storage) *
                      ztensor::logical_types[type].storage_elements;
        }
    }
    const std::string encoding = from.one_of<std::string>({"raw", "raw", "zstd", "", "", from.unusual() ? "lz4" : ""});
    const std::uint64_t length = encoding == "zstd" ? decoded / 2 + 9 : decoded;
    pairs.emplace_back("offset", from.number(of.offset));
    pairs.emplace_back("length", from.number(length));
    if (encoding == "zstd" ? !from.wrong() : from.one_in(10)) {
        pairs.emplace_back("uncompressed_length", from.number(decoded + (from.wrong() ? 1 : 0)));
    }
    if (!encoding.empty()) {
        pairs.emplace_back("encoding", from.text(encoding));
    }
    if (from.one_in(2)) {
        pairs.emplace_back("digest", from.digest());
    }
    if (from.unusual()) {
        pairs.emplace_back("note", cbor::number(1));
    }
    return from.map(pairs, from.unusual());
}

bytes any_object(index_maker& from, std::uint64_t offset) {
    const plain_tensor of = any_tensor(from, offset);
    const std::string role = from.unusual() ? "values" : "data";
    field_values parts = {{role, any_component(from, of)}};
    if (from.unusual()) {
        parts.emplace_back("scales", any_component(from, any_tensor(from, offset + 512)));
    }
    field_values pairs = {{"shape", of.shape},
                          {"format", from.text(from.unusual() ? "mine" : "dense")},
                          {"components", from.map(parts, from.unusual())}};
    if (from.unusual()) {
        pairs.emplace_back("attributes", cbor::map{{"layer", cbor::number(from.below(100))}});
    }
    return from.map(pairs, from.unusual());
}

/// A hundred objects and more, since it takes some until nobody looks for patterns any more.
bytes any_index(index_maker& from) {
    cbor::map objects;
    for (std::size_t i = 0; i < 130; ++i) {
        objects.add(from.text(any_name(from, i)), any_object(from, 64 + 1024 * i));
    }
    const bytes version = cbor::text(from.one_of<std::string>({"1.2.0", "1.2.0", "1.1.0"}));
    return cbor::map{{"version", version}, {"objects", from.one_in(8) ? objects.indefinite() : objects.encoded()}};
}

bytes any_tensor_0_1(index_maker& from, std::size_t number) {
    const plain_tensor of = any_tensor(from, 64 + 1024 * number);
    const ztensor::dtype_facts& row = ztensor::dtypes[from.below(ztensor::dtypes.size())];
    const bool is_zstd = from.one_in(5);
    const std::uint64_t decoded = of.elements * row.width_bytes + (from.wrong() ? 1 : 0);
    field_values pairs = {{"name", from.text(any_name(from, number))},
                          {"offset", from.number(of.offset)},
                          {"size", from.number(is_zstd ? decoded / 2 + 9 : decoded)},
                          {"dtype", from.text(from.unusual() ? std::string_view("float8") : row.long_name)},
                          {"shape", of.shape},
                          {"encoding", from.text(from.unusual() ? "lz4"
                                                 : is_zstd      ? "zstd"
                                                                : "raw")}};
    if (!from.one_in(4)) {
        pairs.emplace_back("layout",
                           from.text(from.unusual() ? from.one_of<std::string>({"sparse", "mine"}) : "dense"));
    }
    if (from.one_in(2)) {
        const bytes order = from.text(from.unusual() ? from.one_of<std::string>({"big", "middle"}) : "little");
        pairs.emplace_back("data_endianness", from.one_in(8) ? cbor::null : order);
    }
    if (from.one_in(3)) {
        pairs.emplace_back("checksum", from.one_in(8) ? cbor::null : from.digest());
    }
    if (from.unusual()) {
        const auto key = from.one_of<std::string>({"sparse_format", "indptr", "indices", "coords"});
        pairs.emplace_back(key, from.one_of<bytes>({cbor::text("csr"), cbor::numbers({0, 1})}));
    }
    for (std::size_t more = from.one_in(4) ? 1 + from.below(2) : 0; more != 0; --more) {
        const bytes values[] = {cbor::null, cbor::number(300), cbor::text("x"), cbor::double_one,
                                cbor::text(std::string(30, 'x'))};
        const std::string suffix = std::to_string(from.unusual() ? 1 : more); // or the same key twice
        pairs.emplace_back((from.unusual() ? "sizes" : "note") + suffix, values[from.below(5)]);
    }
    return from.map(pairs, !from.one_in(4));
}

bytes any_index_0_1(index_maker& from) {
    std::vector<bytes> tensors;
    for (std::size_t i = 0; i < 40; ++i) {
        tensors.push_back(any_tensor_0_1(from, i));
    }
    return from.one_in(8) ? cbor::indefinite_array(tensors) : cbor::array(tensors);
}

bytes damaged(index_maker& from, bytes index) {
    for (std::size_t damages = 1 + from.below(3); damages != 0; --damages) {
        const std::size_t at = from.below(index.size());
        if (from.one_in(3)) {
            index.resize(std::max<std::size_t>(at, 1));
        } else {
            const auto before = static_cast<unsigned char>(index[at]);
            index[at] = static_cast<char>(from.one_in(2) ? from.below(256) : before ^ std::size_t{1} << from.below(8));
        }
    }
    return index;
}

} // namespace unlike_objects

} // namespace

TEST_CASE("objects of all kinds side by side are what the general way makes of them") {
    unlike_objects::index_maker from(20261123);
    for (int i = 0; i < 500; ++i) {
        both_ways::check_equal(unlike_objects::any_index(from));
    }
    for (int i = 0; i < 500; ++i) {
        both_ways::check_equal(unlike_objects::damaged(from, unlike_objects::any_index(from)));
    }
}

TEST_CASE("tensors of 0.1 of all kinds side by side are what the general way makes of them") {
    unlike_objects::index_maker from(20261124);
    for (int i = 0; i < 1500; ++i) {
        both_ways::check_equal(unlike_objects::any_index_0_1(from), true);
    }
    for (int i = 0; i < 1500; ++i) {
        both_ways::check_equal(unlike_objects::damaged(from, unlike_objects::any_index_0_1(from)), true);
    }
}
