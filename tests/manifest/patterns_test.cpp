// SPDX-License-Identifier: MIT
//
// Objects that are read by pattern are what the general way makes of them: on every file of the corpora, and on indices
// made at random, whole and damaged.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/golden.hpp"

#include <ztensor/detail/manifest/read.hpp>
#include <ztensor/detail/manifest/validate.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::bytes;
namespace cbor = support::cbor;
namespace detail = ztensor::detail;

constexpr std::uint64_t blobs_end = 1 << 20;

/// All that a manifest says, or why it is refused.
struct index_outcome {
    std::string text;
    std::size_t checked = 0; ///< objects that need no other check
};

std::string describe(const detail::manifest& index) {
    std::string out = std::to_string(static_cast<int>(index.generation)) + (index.names_are_sorted ? " sorted" : "");
    const auto add = [&](auto number) { out += ' ' + std::to_string(number); };
    for (const detail::object_record& object : index.objects) {
        out += "\n";
        for (const detail::index_item item : {object.name, object.format_word, object.shape, object.attributes}) {
            add(item.position);
        }
        add(object.first_component);
        add(object.component_count);
        add(index.element_count_of(object));
        add(object.format ? static_cast<int>(*object.format) : -1);
        add(int{object.has_attributes});
        for (const detail::component_record& each : index.components_of(object)) {
            out += "\n   ";
            for (const detail::index_item item :
                 {each.role, each.dtype_word, each.type_word, each.encoding_word, each.digest_text}) {
                add(item.position);
            }
            add(each.offset);
            add(each.length);
            add(each.uncompressed_length);
            add(each.dtype ? static_cast<int>(*each.dtype) : -1);
            add(each.encoding ? static_cast<int>(*each.encoding) : -1);
            add(int{each.logical_type});
            add(int{each.states_uncompressed_length} + 2 * int{each.knows_uncompressed_length});
        }
    }
    return out;
}

index_outcome read(const bytes& encoded, bool uses_patterns) {
    detail::manifest index;
    REQUIRE(index.index.allocate(encoded.size(), detail::pattern::reach_bytes));
    std::memcpy(index.index.data(), encoded.data(), encoded.size());
    const ztensor::read_options options;
    auto done = detail::manifest_reader(index, options, blobs_end, uses_patterns).read_1();
    index_outcome answer;
    if (done) {
        for (const detail::object_record& object : index.objects) {
            answer.checked += object.is_checked ? 1 : 0;
        }
        done = detail::manifest_validator(index, blobs_end).validate();
    }
    answer.text = done ? describe(index) : done.error().what();
    return answer;
}

/// The same with and without patterns; how many objects a pattern has read and checked.
std::size_t check_equal(const bytes& encoded) {
    const index_outcome fast = read(encoded, true);
    const index_outcome general = read(encoded, false);
    REQUIRE(general.checked == 0);
    CHECK(fast.text == general.text);
    return fast.checked;
}

/// What is at random, and whether seldom things happen at all.
struct dice : std::mt19937 {
    using std::mt19937::mt19937;
    bool is_odd = false;
};

std::size_t below(dice& from, std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(from);
}

/// True once in `times`, in an odd index.
bool seldom(dice& from, std::size_t times) {
    return from.is_odd && below(from, times) == 0;
}

template <class T>
const T& one_of(dice& from, const std::vector<T>& all) {
    return all[below(from, all.size())];
}

bytes number_in_any_width(dice& from, std::uint64_t value) {
    const std::size_t width = below(from, 8) != 0 ? 0 : one_of<std::size_t>(from, {1, 2, 4, 8});
    const bool fits = width == 8 || (width != 0 && value >> (8 * width) == 0);
    return fits ? cbor::head_of_size(cbor::major::unsigned_integer, value, width) : cbor::number(value);
}

bytes text_in_any_form(dice& from, std::string_view value) {
    switch (from.is_odd ? below(from, 60) : 2) {
    case 0:
        return cbor::chunked({value.substr(0, value.size() / 2), value.substr(value.size() / 2)});
    case 1:
        return cbor::head_of_size(cbor::major::text, value.size(), 1) + bytes(value);
    default:
        return cbor::text(value);
    }
}

/// How the components and objects of one index are mostly encoded: what writers do, and a little more.
struct habits {
    explicit habits(dice& from)
        : keeps_key_order(below(from, 4) != 0), has_type(below(from, 3) == 0), states_encoding(below(from, 2) == 0),
          digest(one_of<std::string>(from, {"", "crc32c:", "crc32c:0x", "sha256:", "xxh3:", "crc32c"})),
          encoding(one_of<std::string>(from, {"raw", "zstd", "raw", "lz4"})), has_unknown_key(below(from, 5) == 0) {
        const std::vector<std::string> all = {"f32", "u8", "bf16", "i64", "f128"};
        dtypes = {one_of(from, all), one_of(from, all)};
    }

    bool keeps_key_order;
    bool has_type;
    bool states_encoding;
    std::string digest;
    std::string encoding;
    bool has_unknown_key;
    std::vector<std::string> dtypes;
};

void shuffle_seldom(dice& from, const habits& how, std::vector<std::pair<std::string_view, bytes>>& pairs) {
    if (!how.keeps_key_order && below(from, 3) == 0) {
        std::shuffle(pairs.begin(), pairs.end(), from);
    }
}

bytes encode_map(dice& from, const std::vector<std::pair<std::string_view, bytes>>& pairs) {
    cbor::map out;
    for (const auto& [key, value] : pairs) {
        out.add(text_in_any_form(from, key), value);
    }
    return seldom(from, 50) ? out.indefinite() : out.encoded();
}

bytes some_digest(dice& from, const std::string& algorithm) {
    const std::size_t digits = algorithm == "sha256:" ? 64 : 8;
    std::string text = algorithm;
    for (std::size_t i = 0; i < digits; ++i) {
        text += "0123456789abcdefABCDEF"[below(from, 22)];
    }
    if (seldom(from, 100)) {
        text[below(from, text.size())] = one_of<char>(from, {'g', '/', ':', '@', 'G', '`', '\x1f', '\x7f', ' '});
    }
    return text_in_any_form(from, text);
}

struct place {
    std::uint64_t next = 64;
};

bytes some_component(dice& from, const habits& how, std::uint64_t elements, place& at) {
    const std::string& dtype = one_of(from, how.dtypes);
    const std::uint64_t width = dtype == "u8" ? 1 : dtype == "bf16" ? 2 : dtype == "i64" ? 8 : 4;
    const std::uint64_t decoded = elements * width + (seldom(from, 200) ? 1 : 0);
    const bool is_raw = how.encoding == "raw" || !how.states_encoding;
    const std::uint64_t length = is_raw ? decoded : decoded / 2 + 9;
    const std::uint64_t offset = seldom(from, 100) ? one_of<std::uint64_t>(from, {0, 65, 64, blobs_end}) : at.next;
    at.next = (at.next + length + 63) / 64 * 64;
    std::vector<std::pair<std::string_view, bytes>> pairs = {{"dtype", text_in_any_form(from, dtype)}};
    if (how.has_type) {
        pairs.emplace_back("type", one_of<bytes>(from, {cbor::null, cbor::text("f8_e4m3fn"), cbor::text("complex64")}));
    }
    pairs.emplace_back("offset", number_in_any_width(from, offset));
    pairs.emplace_back("length", number_in_any_width(from, length));
    if (!is_raw || seldom(from, 20)) {
        pairs.emplace_back("uncompressed_length", number_in_any_width(from, decoded));
    }
    if (how.states_encoding) {
        pairs.emplace_back("encoding", text_in_any_form(from, how.encoding));
    }
    if (!how.digest.empty() && below(from, 10) != 0) {
        pairs.emplace_back("digest", some_digest(from, how.digest));
    }
    if (how.has_unknown_key) {
        pairs.emplace_back("note", cbor::text(std::string(below(from, 3), 'n')));
    }
    shuffle_seldom(from, how, pairs);
    return encode_map(from, pairs);
}

bytes some_object(dice& from, const habits& how, place& at) {
    std::uint64_t elements = 1;
    std::vector<bytes> dimensions;
    for (std::size_t rank = seldom(from, 30) ? 30 : below(from, 4); rank != 0; --rank) {
        const std::uint64_t dimension = dimensions.size() < 3 ? below(from, 9) : 1;
        elements *= dimension;
        dimensions.push_back(number_in_any_width(from, dimension));
    }
    std::vector<std::pair<std::string_view, bytes>> parts;
    const std::string_view format =
        one_of<std::string_view>(from, {"dense", "dense", "dense", "dense", "sparse_csr", "pair"});
    if (format == "dense") {
        parts.emplace_back("data", some_component(from, how, elements, at));
    } else {
        for (std::string_view role : {"values", "indices", "indptr"}) {
            role = seldom(from, 20) ? "values" : role; // which then stands twice
            parts.emplace_back(role, some_component(from, how, elements, at));
        }
    }
    std::vector<std::pair<std::string_view, bytes>> pairs = {
        {"shape", seldom(from, 40) ? cbor::indefinite_array(dimensions) : cbor::array(dimensions)},
        {"format", text_in_any_form(from, format)}};
    if (below(from, 8) == 0) {
        pairs.emplace_back("attributes", cbor::map({{"bits", cbor::number(4)}}).encoded());
    }
    pairs.emplace_back("components", encode_map(from, parts));
    shuffle_seldom(from, how, pairs);
    return encode_map(from, pairs);
}

bytes some_index(dice& from) {
    from.is_odd = below(from, 3) == 0;
    const habits how(from);
    place at;
    cbor::map objects;
    const std::size_t count = below(from, 40);
    for (std::size_t i = 0; i < count; ++i) {
        std::string name = "layer." + std::to_string(100 + i) + std::string(below(from, 3) * below(from, 90), 'x');
        if (seldom(from, 60)) {
            name = one_of<std::string>(
                from, {"layer.100", "", "a", "\xc3\xa4", "\xff", std::string("a\0b", 3), std::string(300, 'y')});
        }
        objects.add(text_in_any_form(from, name), some_object(from, how, at));
    }
    cbor::map root;
    const bytes version = cbor::text(one_of<std::string_view>(from, {"1.2.0", "1.1.0", "1.2.0", "1.7"}));
    const bool version_first = below(from, 6) != 0;
    if (version_first) {
        root.set("version", version);
    }
    root.set("objects", below(from, 12) == 0 ? objects.indefinite() : objects.encoded());
    if (!version_first) {
        root.set("version", version);
    }
    return root;
}

} // namespace

TEST_CASE("objects read by pattern are what the general way makes of them") {
    dice from(20261122);
    std::size_t by_pattern = 0;
    for (int i = 0; i < 3000; ++i) {
        by_pattern += check_equal(some_index(from));
    }
    CHECK(by_pattern > 3000); // else this shows nothing
}

TEST_CASE("damaged objects are refused by pattern and by the general way alike") {
    dice from(8128);
    for (int i = 0; i < 6000; ++i) {
        bytes index = some_index(from);
        for (std::size_t damages = 1 + below(from, 3); damages != 0; --damages) {
            const std::size_t at = below(from, index.size());
            switch (below(from, 3)) {
            case 0:
                index[at] = static_cast<char>(below(from, 256));
                break;
            case 1:
                index[at] = static_cast<char>(index[at] ^ 1 << below(from, 8));
                break;
            default:
                index.resize(std::max<std::size_t>(at, 1));
            }
        }
        check_equal(index);
    }
}

TEST_CASE("the indices of real files are the same by pattern and by the general way") {
    std::size_t by_pattern = 0;
    for (const auto& path : support::golden_paths()) {
        const support::byte_vector file = support::golden(path.filename().string());
        const bytes all = support::as_string(file);
        if (all.size() < 24 || all.substr(all.size() - 8) != "ZTEN1000") {
            continue;
        }
        const std::size_t end = all.size() - 16;
        const auto length = static_cast<std::size_t>(detail::load_little(file.data() + end, 8));
        if (length < end) {
            by_pattern += check_equal(all.substr(end - length, length));
        }
    }
    CHECK(by_pattern > 0);
}
