// SPDX-License-Identifier: MIT
//
// Objects that are read by template are what the general way makes of them: on every file of the corpora, and on
// indices made at random, whole and damaged.
#include "index/both_ways.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/golden.hpp"

#include <ztensor/detail/base/bytes.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::bytes;
namespace cbor = support::cbor;
namespace detail = ztensor::detail;

using both_ways::blobs_end;
using both_ways::check_equal;

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

/// A name that mostly has no twin; in an odd index also one that none may have.
std::string some_key(dice& from, const std::string& start, std::size_t number) {
    if (seldom(from, 100)) {
        return one_of<std::string>(from, {"", "expert.3", "\xc3\xa4", "\xff", std::string("a\0b", 3),
                                          std::string(300, 'y'), std::string(5000, 'z')});
    }
    const bool is_sorted = below(from, 4) != 0;
    return start + (is_sorted ? std::to_string(100 + number) : '-' + std::to_string(number * 7919 % 1009));
}

bytes some_attributes(dice& from) {
    cbor::map out;
    for (std::size_t i = below(from, 3) == 0 ? below(from, 60) : 1; i != 0; --i) {
        const bytes value = one_of<bytes>(from, {cbor::number(i), cbor::text("x"), cbor::null, cbor::array({})});
        out.add(text_in_any_form(from, some_key(from, "key.", i)), value);
    }
    return seldom(from, 10) ? out.indefinite() : out.encoded();
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
        one_of<std::string_view>(from, {"dense", "dense", "dense", "dense", "dense", "sparse_csr", "pair", "experts"});
    std::vector<std::string> names; // of experts; what parts refer to
    if (format == "dense") {
        parts.emplace_back("data", some_component(from, how, elements, at));
    } else if (format == "experts") {
        const std::size_t count = 1 + below(from, 12);
        for (std::size_t i = 0; i < count; ++i) {
            names.push_back(some_key(from, "expert.", i));
        }
        for (const std::string& name : names) {
            parts.emplace_back(name, some_component(from, how, elements, at));
        }
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
        pairs.emplace_back("attributes", some_attributes(from));
    }
    std::vector<std::string> unknown;
    for (std::size_t i = seldom(from, 20) ? below(from, 50) : 0; i != 0; --i) {
        unknown.push_back(some_key(from, "unknown.", i));
    }
    for (const std::string& key : unknown) {
        pairs.emplace_back(key, cbor::null);
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

TEST_CASE("objects read by template are what the general way makes of them") {
    dice from(20261122);
    std::size_t by_template = 0;
    for (int i = 0; i < 4000; ++i) { // those of empty objects are checked the general way
        by_template += check_equal(some_index(from));
    }
    CHECK(by_template > 3000); // else this shows nothing
}

namespace {

/// A part of a sparse matrix; its numbers are off by one once in a while.
bytes sparse_part(dice& from, std::string_view dtype, std::uint64_t length, place& at) {
    length += seldom(from, 40) ? below(from, 2) * 2 - 1 : 0;
    const std::uint64_t offset = at.next + (seldom(from, 60) ? 8 : 0);
    at.next = (at.next + length + 63) / 64 * 64;
    cbor::map out = {{"dtype", cbor::text(seldom(from, 40) ? std::string_view("i64") : dtype)},
                     {"offset", number_in_any_width(from, offset)},
                     {"length", number_in_any_width(from, length)}};
    if (seldom(from, 30)) {
        out.set("uncompressed_length", cbor::number(length + below(from, 2)));
    }
    return out;
}

bytes sparse_object(dice& from, std::vector<std::string>& roles, place& at) {
    const std::uint64_t rows = below(from, 30), entries = below(from, 30);
    const bytes shape = cbor::array({number_in_any_width(from, rows), cbor::number(7)});
    std::vector<std::pair<std::string_view, bytes>> parts;
    if (seldom(from, 20)) {
        std::shuffle(roles.begin(), roles.end(), from);
    }
    for (const std::string& role : roles) {
        const bytes part = role == "values"    ? sparse_part(from, "f32", 4 * entries, at)
                           : role == "indices" ? sparse_part(from, "u64", 8 * entries, at)
                                               : sparse_part(from, "u64", 8 * (rows + 1), at);
        parts.emplace_back(seldom(from, 90) ? std::string_view("data") : role, part);
    }
    return encode_map(from, {{"shape", seldom(from, 40) ? cbor::array({cbor::number(rows)}) : shape},
                             {"format", cbor::text("sparse_csr")},
                             {"components", encode_map(from, parts)}});
}

} // namespace

TEST_CASE("sparse objects that are checked by template are those that the general way finds right") {
    dice from(496);
    for (int i = 0; i < 2000; ++i) {
        from.is_odd = below(from, 2) == 0;
        std::vector<std::string> roles = {"values", "indices", "indptr"};
        std::shuffle(roles.begin(), roles.end(), from);
        place at;
        cbor::map objects;
        for (std::size_t object = 0; object < 8; ++object) {
            objects.add(cbor::text("matrix." + std::to_string(object)), sparse_object(from, roles, at));
        }
        check_equal(cbor::map{{"version", cbor::text(i % 3 == 0 ? "1.1.0" : "1.2.0")}, {"objects", objects.encoded()}});
    }
}

namespace {

/// An index of a dozen objects that are encoded alike, so that most are read by template. `object(i)` is the i-th.
template <class Object>
bytes dozen(std::string_view version, const Object& object) {
    cbor::map objects;
    for (std::size_t i = 0; i < 12; ++i) {
        objects.add(cbor::text("object." + std::to_string(100 + i)), object(i));
    }
    return cbor::map{{"version", cbor::text(version)}, {"objects", objects.encoded()}};
}

bytes part_at(std::size_t place, std::string_view dtype, std::uint64_t length, cbor::map more = {}) {
    more.set("dtype", cbor::text(dtype));
    more.set("offset", cbor::head_of_size(cbor::major::unsigned_integer, 64 * (place + 1), 2));
    return more.set("length", cbor::number(length));
}

bytes plain_object(std::string_view format, const std::vector<bytes>& dimensions, const cbor::map& parts) {
    return cbor::map{
        {"shape", cbor::array(dimensions)}, {"format", cbor::text(format)}, {"components", parts.encoded()}};
}

/// Both ways say so.
bool is_said_of(const bytes& encoded, std::string_view what) {
    check_equal(encoded);
    return both_ways::read(encoded, true).text.find(what) != std::string::npos;
}

} // namespace

TEST_CASE("a wrong size is found in the last of a dozen objects that are encoded alike") {
    const auto stated = [](std::uint64_t last) {
        return dozen("1.2.0", [&](std::size_t i) {
            const cbor::map more = {{"uncompressed_length", cbor::number(i == 11 ? last : 8)}};
            return plain_object("dense", {cbor::number(2)}, {{"data", part_at(i, "f32", 8, more)}});
        });
    };
    CHECK(check_equal(stated(8)) >= 6);
    CHECK(is_said_of(stated(9), "a raw blob has a length of 8 and an uncompressed length of 9"));

    const auto placed = [](std::uint64_t offset, std::uint64_t length, std::uint64_t dimension) {
        return dozen("1.2.0", [&](std::size_t i) {
            cbor::map part = {{"dtype", cbor::text("f32")}};
            part.set("offset", cbor::head_of_size(cbor::major::unsigned_integer, i == 11 ? offset : 64 * (i + 1), 4));
            part.set("length", cbor::number(i == 11 ? length : 8));
            return plain_object("dense", {cbor::number(i == 11 ? dimension : 2)}, {{"data", part}});
        });
    };
    CHECK(check_equal(placed(64 * 12, 8, 2)) >= 6);
    CHECK(check_equal(placed(blobs_end - 64, 64, 16)) >= 6);
    CHECK(is_said_of(placed(64 * 12 + 8, 8, 2), "not a multiple of 64"));
    CHECK(is_said_of(placed(0, 8, 2), "where the file's magic stands"));
    CHECK(is_said_of(placed(blobs_end, 8, 2), "reaches past byte"));
    CHECK(is_said_of(placed(64 * 12, 7, 2), "the data takes 7 bytes, but shape [2] of f32 takes 8"));
    CHECK(is_said_of(placed(64 * 12, 8, 3), "but shape [3] of f32 takes 12"));
    CHECK(is_said_of(placed(64 * 11, 9, 2), "takes 9 bytes"));
    CHECK(is_said_of(placed(64, 4, 1), "two blobs share bytes"));
}

TEST_CASE("shapes of every rank are read by template as by the general way") {
    for (std::size_t rank = 0; rank <= 65; ++rank) {
        CAPTURE(rank);
        check_equal(dozen("1.2.0", [&](std::size_t i) {
            std::vector<bytes> dimensions(rank, cbor::number(1));
            for (std::size_t each = 0; each < dimensions.size() && each < 3; ++each) {
                dimensions[each] = cbor::number(i % 3 + each + 1);
            }
            const std::uint64_t elements =
                std::uint64_t{i % 3 + 1} * (rank > 1 ? i % 3 + 2 : 1) * (rank > 2 ? i % 3 + 3 : 1);
            return plain_object("dense", dimensions, {{"data", part_at(i, "u8", rank == 0 ? 1 : elements)}});
        }));
        if (rank > 1) { // a rank of two bytes that is taken for a dimension makes 6 elements of these none
            CHECK(is_said_of(dozen("1.2.0",
                                   [&](std::size_t i) {
                                       std::vector<bytes> dimensions(rank, cbor::number(1));
                                       dimensions[0] = cbor::number(i == 11 ? 0 : 1);
                                       dimensions[1] = cbor::number(6);
                                       return plain_object("dense", dimensions, {{"data", part_at(i, "u8", 6)}});
                                   }),
                             rank <= 64 ? "the data takes 6 bytes, but shape" : ""));
        }
    }
}

TEST_CASE("compressed objects that are encoded alike need their size where their version states it") {
    const auto objects = [](std::string_view version, bool states_size, std::uint64_t last) {
        return dozen(version, [&](std::size_t i) {
            cbor::map more = {{"encoding", cbor::text("zstd")}};
            if (states_size) {
                more.set("uncompressed_length", cbor::number(i == 11 ? last : 8));
            }
            return plain_object("dense", {cbor::number(2)}, {{"data", part_at(i, "f32", 17, more)}});
        });
    };
    CHECK(check_equal(objects("1.1.0", false, 8)) == 0); // each needs another look
    CHECK(check_equal(objects("1.2.0", true, 8)) >= 6);
    CHECK(is_said_of(objects("1.2.0", false, 8), "a zstd blob without"));
    CHECK(is_said_of(objects("1.2.0", true, 9), "the data takes 9 bytes"));
}

TEST_CASE("a matrix by rows that lacks a part or whose parts don't fit is found among others encoded alike") {
    struct wrong_part {
        std::string_view role;
        std::string_view what; ///< "absent", or how long it is
        const char* sentence;
    };
    const wrong_part all[] = {
        {"indptr", "absent", "needs a component \"indptr\""},
        {"indices", "absent", "needs a component \"indices\""},
        {"values", "absent", "needs a component \"values\""},
        {"indptr", "0", "row pointers belong to the shape"},
        {"indptr", "16", "row pointers belong to the shape"},
        {"indptr", "32", "row pointers belong to the shape"},
        {"indices", "0", "belong to the values"},
        {"indices", "32", "belong to the values"},
        {"values", "12", "belong to the values"},
        {"values", "9", "no whole number of elements"},
    };
    const auto matrices = [](const wrong_part& wrong, bool in_all) {
        return dozen("1.2.0", [&](std::size_t i) {
            cbor::map parts;
            const std::pair<std::string_view, std::uint64_t> lengths[] = {
                {"values", 8}, {"indices", 16}, {"indptr", 24}};
            for (const auto& [role, length] : lengths) {
                const bool is_wrong = role == wrong.role && (in_all || i == 11);
                const std::size_t place = 3 * i + (role == "values" ? 0u : role == "indices" ? 1u : 2u);
                if (!is_wrong || wrong.what != "absent") {
                    parts.set(role, part_at(place, role == "values" ? "f32" : "u64",
                                            is_wrong ? std::stoull(std::string(wrong.what)) : length));
                }
            }
            return plain_object("sparse_csr", {cbor::number(2), cbor::number(7)}, parts);
        });
    };
    check_equal(matrices({"", "", ""}, false));
    for (const wrong_part& wrong : all) {
        CAPTURE(wrong.role, wrong.what);
        CHECK(is_said_of(matrices(wrong, false), wrong.sentence));
        CHECK(is_said_of(matrices(wrong, true), wrong.sentence));
    }
}

TEST_CASE("damaged objects are refused by template and by the general way alike") {
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

TEST_CASE("the indices of real files are the same by template and by the general way") {
    std::size_t by_template = 0;
    for (const auto& path : support::golden_paths()) {
        const support::byte_vector file = support::golden(path.filename().string());
        const bytes all = support::as_string(file);
        if (all.size() < 24 || all.substr(all.size() - 8) != "ZTEN1000") {
            continue;
        }
        const std::size_t end = all.size() - 16;
        const auto length = static_cast<std::size_t>(detail::load_little(file.data() + end, 8));
        if (length < end) {
            by_template += check_equal(all.substr(end - length, length));
        }
    }
    CHECK(by_template > 0);
}

TEST_CASE("what is no shape is not taken for one by a template, however many numbers stand there") {
    const auto last_shape = [](const bytes& shape) {
        return dozen("1.2.0", [&](std::size_t i) {
            return bytes(cbor::map{{"shape", i == 11 ? shape : cbor::array({cbor::number(6)})},
                                   {"format", cbor::text("dense")},
                                   {"components", cbor::map{{"data", part_at(i, "u8", 6)}}.encoded()}});
        });
    };
    const auto of_ones = [](std::size_t count) { return cbor::joined(std::vector<bytes>(count, cbor::number(1))); };
    // Each head is that of a rank from 25 on to whoever looks at no more than its distance from an array's.
    CHECK(is_said_of(last_shape(cbor::array({cbor::number(6)})), "sorted"));
    CHECK(is_said_of(last_shape(cbor::head_of_size(cbor::major::array, 2, 2) + of_ones(24) + cbor::number(6)), "key"));
    CHECK(is_said_of(last_shape(cbor::indefinite_head(cbor::major::array) + of_ones(30) + cbor::number(6)),
                     "in the manifest, an unsigned integer is required here"));
    CHECK(is_said_of(last_shape(cbor::head(cbor::major::map, 1) + of_ones(32) + cbor::number(6)),
                     "in the manifest, an array is required here"));
    CHECK(is_said_of(last_shape(cbor::head(cbor::major::tag, 1) + of_ones(64)),
                     "in the manifest, an array is required here"));
}

TEST_CASE("scalars are checked by template, and objects without elements the general way") {
    const auto of_dimension = [](std::uint64_t dimension) {
        return dozen("1.2.0", [&](std::size_t i) {
            return plain_object("dense", {cbor::number(dimension)}, {{"data", part_at(i, "u8", dimension)}});
        });
    };
    CHECK(check_equal(of_dimension(1)) >= 6);
    CHECK(check_equal(of_dimension(0)) == 0);
}

TEST_CASE("objects that are encoded in three ways, in any order, are found valid as they are read") {
    constexpr std::size_t ways[] = {0, 1, 2, 0, 2, 1, 1, 0, 0, 2, 2, 1};
    constexpr std::string_view types[] = {"u8", "i16", "f32"};
    const bytes index = dozen("1.2.0", [&](std::size_t i) {
        const std::uint64_t width = std::uint64_t{1} << ways[i];
        return plain_object("dense", {cbor::number(6)}, {{"data", part_at(i, types[ways[i]], 6 * width)}});
    });
    CHECK(check_equal(index) == 9); // all but the first of each
}

TEST_CASE("sparse matrices are read alike whatever the width of their values, if it is known or not") {
    const auto of_values = [](std::string_view dtype, std::string_view type, std::uint64_t length) {
        return dozen("1.2.0", [&](std::size_t i) {
            cbor::map values;
            if (!type.empty()) {
                values.set("type", cbor::text(type));
            }
            return plain_object("sparse_csr", {cbor::number(1), cbor::number(7)},
                                {{"values", part_at(3 * i, dtype, length, values)},
                                 {"indices", part_at(3 * i + 1, "u64", 16)},
                                 {"indptr", part_at(3 * i + 2, "u64", 16)}});
        });
    };
    check_equal(of_values("u8", "", 2));
    check_equal(of_values("f64", "", 16));
    check_equal(of_values("u8", "nobody_knows_it", 2));
}

namespace {

using key_values = std::vector<std::pair<std::string_view, bytes>>;

/// Two hundred objects of which no two are likely to be encoded alike; `change` is made to the fields of one of the
/// last.
template <class Change>
bytes unlike_each_other(const std::string& name_start, const Change& change) {
    dice from(20261122);
    cbor::map objects;
    for (std::size_t i = 0; i < 200; ++i) {
        key_values of_part = {{"dtype", cbor::text(i % 3 == 0 ? "f32" : "i32")},
                              {"offset", number_in_any_width(from, 64 * (i + 1))},
                              {"length", number_in_any_width(from, 8)},
                              {"encoding", cbor::text("raw")},
                              {"uncompressed_length", number_in_any_width(from, 8)},
                              {"digest", cbor::text("crc32c:0x0123abcd")}};
        std::shuffle(of_part.begin(), of_part.end(), from);
        if (i == 190) {
            change(of_part);
        }
        const bytes part = encode_map(from, of_part);
        key_values of_object = {{"shape", cbor::array({cbor::number(2)})},
                                {"format", cbor::text("dense")},
                                {"components", encode_map(from, {{"data", part}})}};
        std::shuffle(of_object.begin(), of_object.end(), from);
        objects.add(cbor::text(name_start + std::to_string(1000 + i)), encode_map(from, of_object));
    }
    return cbor::map{{"version", cbor::text("1.2.0")}, {"objects", objects.encoded()}};
}

/// The field with that key.
bytes& value_of(key_values& all, std::string_view key) {
    return std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == key; })->second;
}

} // namespace

TEST_CASE("objects that are encoded unlike each other are read with and without templates alike") {
    const auto nothing = [](key_values&) {};
    for (const std::string& start :
         {std::string("layer."), std::string("\xe6\xa8\xa1\xe5\x9e\x8b."), std::string(300, 'y')}) {
        check_equal(unlike_each_other(start, nothing));
    }
    const auto changed = [](const char* key, const bytes& value) {
        return unlike_each_other("layer.", [&](key_values& all) { value_of(all, key) = value; });
    };
    CHECK(is_said_of(changed("offset", cbor::number(65)), "not a multiple of 64"));
    CHECK(is_said_of(changed("offset", cbor::text("64")), "an unsigned integer is required here"));
    CHECK(is_said_of(changed("length", cbor::number(9)), "the data takes 9 bytes, but shape [2] of"));
    CHECK(is_said_of(changed("uncompressed_length", cbor::number(7)), "an uncompressed length of 7"));
    CHECK(is_said_of(changed("dtype", cbor::text("f64")), "takes 16"));
    CHECK(is_said_of(changed("dtype", cbor::text("\xff")), "text that is not UTF-8"));
    CHECK(is_said_of(changed("dtype", cbor::number(1)), "a text string is required here"));
    CHECK(is_said_of(changed("digest", cbor::text("crc32c:0x0123abcg")), "hex digits"));
    const auto with = [](const char* key, const bytes& value) {
        return unlike_each_other("layer.", [&](key_values& all) { all.emplace_back(key, value); });
    };
    CHECK(is_said_of(with("offset", cbor::number(64)), "a key stands twice"));
    check_equal(with("lengths", cbor::number(64)));
    check_equal(with("uncompressed_lengtH", cbor::number(64)));
    for (const char* const key : {"dtype", "offset", "length"}) {
        const auto is_it = [&](const auto& each) { return each.first == key; };
        const bytes without = unlike_each_other(
            "layer.", [&](key_values& all) { all.erase(std::remove_if(all.begin(), all.end(), is_it), all.end()); });
        CAPTURE(key);
        CHECK(is_said_of(without, "a required field is missing"));
    }
    const bytes whole = unlike_each_other("layer.", nothing);
    for (std::size_t cut = 1; cut < 150; cut += cut < 20 ? 1 : 4) { // anywhere in the last of them
        CAPTURE(cut);
        CHECK(is_said_of(whole.substr(0, whole.size() - cut), "bytes")); // of which there are too few
    }
}

namespace {

/// A dozen objects with `field` beside their own fields, and in their component; the last has another.
bytes with_fields(const std::pair<bytes, bytes>& field, const std::pair<bytes, bytes>& last) {
    return dozen("1.2.0", [&](std::size_t i) {
        const auto& [key, value] = i == 11 ? last : field;
        cbor::map part = {{"dtype", cbor::text("f32")}};
        part.set("offset", cbor::head_of_size(cbor::major::unsigned_integer, 64 * (i + 1), 2));
        part.set("length", cbor::number(8)).add(key, value);
        cbor::map object = {{"shape", cbor::array({cbor::number(2)})}, {"format", cbor::text("dense")}};
        object.add(key, value);
        return object.set("components", cbor::map{{"data", part}});
    });
}

} // namespace

TEST_CASE("an unknown key beside others of its length is no field, whatever stands behind it") {
    const bytes one = cbor::number(1);
    const auto keys = [&](std::string_view key, std::string_view last) {
        return with_fields({cbor::text(key), one}, {cbor::text(last), one});
    };
    for (const std::string_view last : {"xhape", "xx\x7fxx", "shape", "dtype", "x\xff\xff\xff\xff", "xx\xc3\xa4x"}) {
        CAPTURE(last);
        check_equal(keys("xxxxx", last)); // as long as a field of an object, and of a component
        check_equal(keys("yyyyyyy", last));
    }
    CHECK(check_equal(keys("xxxxx", "xhape")) == 10); // all but those that are the first of their kind
    CHECK(is_said_of(keys("xxxxx", "shape"), "a key stands twice"));
    CHECK(is_said_of(keys("xxxxx", "dtype"), "a key stands twice"));
    CHECK(is_said_of(keys("yyyyyyy", "yy\xffyyyy"), "not UTF-8"));

    const std::vector<bytes> values = {
        cbor::number(0),
        cbor::number(23),
        cbor::number(24),
        cbor::number(1000),
        cbor::null,
        cbor::text(""),
        cbor::text("a"),
        cbor::text("\xff"),
        cbor::text("\xc3\xa4"),
        bytes("\x18"),
        bytes("\x1c"),
        bytes("\x1f"),
        bytes("\x20"),
        bytes("\x38\x01"),
        bytes("\x3f"),
        bytes("\xf9\x01x"),
        bytes("\xf8\x18"),
        cbor::text("12345678"),
        cbor::text("1234567\xff"),
        bytes("\x7f\xff"),
        cbor::array({}),
        bytes("\x5f"),
        cbor::text(std::string(30, 'l')),
        cbor::text(std::string(29, 'l') + '\xff'),
    };
    for (const bytes& value : values) {
        for (const bytes& last : values) {
            check_equal(with_fields({cbor::text("yyyyyyy"), value}, {cbor::text("zzzzzzz"), last}));
        }
    }
}

TEST_CASE("attributes that differ among objects encoded alike are what the general way finds there") {
    const auto noted = [](const bytes& last) {
        return dozen("1.2.0", [&](std::size_t i) {
            const cbor::map attributes = {{"layer", cbor::number(100 + i)},
                                          {"note", i == 11 ? last : cbor::text(i % 2 == 0 ? "even" : "odd.")},
                                          {"heads", cbor::number(i)}};
            cbor::map object = {{"shape", cbor::array({cbor::number(2)})}, {"format", cbor::text("dense")}};
            object.set("attributes", attributes);
            return object.set("components", cbor::map{{"data", part_at(i, "f32", 8)}});
        });
    };
    check_equal(noted(cbor::text("last")));
    for (const bytes& last : {cbor::text("\xff\xff\xff\xff"), cbor::text("\xc3\xa4\xc3\xa4"), cbor::null,
                              cbor::number(9), bytes("\x64o"), cbor::chunked({"la", "st"})}) {
        check_equal(noted(last));
    }
}

TEST_CASE("what is too long to learn from leaves the templates that were learned before as they were") {
    const auto formatted = [](std::size_t i, const std::string& format, std::size_t padding) {
        cbor::map object = {{"format", cbor::text(format)}, {"shape", cbor::array({cbor::number(2)})}};
        object.set("filler", cbor::array(std::vector<bytes>(padding, cbor::null)));
        return object.set("components", cbor::map{{"data", part_at(i, "f32", 8)}});
    };
    for (const std::size_t padding : {std::size_t{1}, std::size_t{700}}) {
        cbor::map objects;
        for (std::size_t i = 0; i < 32; ++i) { // as many as are kept, one of them often enough to be tried again
            const std::string other = "dens" + std::to_string(i < 8 ? i : 7);
            objects.add(cbor::text("object." + std::to_string(100 + i)),
                        i < 30 ? formatted(i, other, 1) : formatted(i, "dense", i == 30 ? 700 : padding));
        }
        check_equal(cbor::map{{"version", cbor::text("1.2.0")}, {"objects", objects.encoded()}});
    }
}

TEST_CASE("many components that differ in what nobody knows are read with and without templates alike") {
    const auto many = [](const bytes& last, std::size_t padding) {
        cbor::map parts;
        for (std::size_t i = 0; i < 40; ++i) { // of few of them the object itself would be learned from
            const cbor::map more = {{"kkk", i == 39 ? last : cbor::number(i % 20)},
                                    {"filler", cbor::array(std::vector<bytes>(padding, cbor::null))}};
            parts.set("p" + std::to_string(100 + i), part_at(i, "f32", 8, more));
        }
        const bytes object = plain_object("mine", {cbor::number(2)}, parts);
        return bytes(cbor::map{{"version", cbor::text("1.2.0")}, {"objects", cbor::map{{"w", object}}}});
    };
    check_equal(many(cbor::number(7), 1));
    check_equal(many(cbor::number(7), 700));
    for (const bytes& last : {bytes("\x18"), bytes("\x1c"), bytes("\x38"), cbor::null}) {
        check_equal(many(last, 1));
    }
}

TEST_CASE("very many objects that are each encoded unlike all others are read with and without templates alike") {
    cbor::map objects;
    for (std::size_t i = 0; i < 6000; ++i) {
        cbor::map object = {{"shape", cbor::array({cbor::number(2)})}, {"format", cbor::text("dense")}};
        object.set("key." + std::to_string(1000 + i), cbor::null);
        objects.add(cbor::text("object." + std::to_string(1000 + i)),
                    object.set("components", cbor::map{{"data", part_at(i, "f32", 8)}}));
    }
    check_equal(cbor::map{{"version", cbor::text("1.2.0")}, {"objects", objects.encoded()}});
}

TEST_CASE("an index that is cut off is refused, although the memory behind it holds the rest") {
    const bytes whole_1 = dozen("1.2.0", [](std::size_t i) {
        return plain_object("dense", {cbor::number(2)}, {{"data", part_at(i, "f32", 8)}});
    });
    std::vector<bytes> tensors;
    for (std::size_t i = 0; i < 12; ++i) {
        tensors.push_back(cbor::map{{"name", cbor::text("layer." + std::to_string(100 + i))},
                                    {"offset", cbor::number(64 * (i + 1))},
                                    {"size", cbor::number(8)},
                                    {"dtype", cbor::text("float32")},
                                    {"shape", cbor::numbers({2})},
                                    {"encoding", cbor::text("raw")}});
    }
    const bytes whole_0_1 = cbor::array(tensors);
    for (const bool is_0_1 : {false, true}) {
        const bytes& whole = is_0_1 ? whole_0_1 : whole_1;
        for (const bool uses_templates : {false, true}) {
            CAPTURE(is_0_1, uses_templates);
            REQUIRE(both_ways::read(whole, uses_templates, is_0_1).code == "ok");
            for (std::size_t size = 1; size < whole.size(); ++size) {
                CAPTURE(size);
                const bytes cut = whole.substr(0, size);
                const auto before_rest = both_ways::read(cut, uses_templates, is_0_1, whole.substr(size));
                const auto before_zeros =
                    both_ways::read(cut, uses_templates, is_0_1, bytes(detail::scan_reach_bytes, '\0'));
                CHECK(before_rest.code == "cbor_truncated");
                CHECK(before_rest.text == before_zeros.text);
            }
        }
    }
}
