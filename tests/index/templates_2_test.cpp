// SPDX-License-Identifier: MIT
//
// A manifest of version 2 read by templates is what the general way makes of it: what is right in a dozen objects that
// are encoded alike is read by template, and what is wrong in the last of them is found. The fields that templates
// leave open are passed exactly as a few plain loops say.
#include "index/described.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/refusal.hpp"

#include <ztensor/detail/index/parse.hpp>
#include <ztensor/detail/index/rules.hpp>
#include <ztensor/detail/index/scan.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using support::bytes;
using ztensor::errc;
namespace cbor = support::cbor;
namespace detail = ztensor::detail;

constexpr std::uint64_t manifest_offset = 64 * 4096;
constexpr std::size_t dozen_2 = 12, last_2 = dozen_2 - 1;

struct manifest_2_outcome {
    std::string text; ///< every record, or the sentence of the refusal
    std::string code = "ok";
    std::size_t checked = 0; ///< objects that need no other check
};

/// The memory behind the manifest holds `behind`, as far as the parser may look there.
manifest_2_outcome read_manifest_2(const bytes& encoded, bool uses_templates, const ztensor::read_options& options,
                                   const bytes& behind = {}) {
    detail::manifest index;
    REQUIRE(index.index.allocate(encoded.size(), detail::scan_reach_bytes));
    std::memcpy(index.index.data(), encoded.data(), encoded.size());
    std::memcpy(index.index.data() + encoded.size(), behind.data(), std::min(behind.size(), detail::scan_reach_bytes));
    const std::uint64_t file_bytes = manifest_offset + encoded.size() + detail::footer_bytes_2;
    const detail::manifest_location at = {detail::container::zt_2, manifest_offset, encoded.size(), 0, false};
    ztensor::result<void> done = detail::parse_index(index, at, file_bytes, options, uses_templates);
    manifest_2_outcome found;
    if (done) {
        for (const detail::object_record& object : index.objects) {
            found.checked += object.is_valid ? 1 : 0;
        }
        found.text = index.blobs_are_in_order ? "in order " : "";
        done = detail::rulebook(index).check();
    }
    found.code = done ? "ok" : std::string(ztensor::name(done.error().code()));
    found.text = done ? found.text + described::describe(index) : std::string(done.error().what());
    return found;
}

/// Both ways say the same.
manifest_2_outcome read_both_ways(const bytes& encoded, const ztensor::read_options& options = {}) {
    const manifest_2_outcome fast = read_manifest_2(encoded, true, options);
    const manifest_2_outcome general = read_manifest_2(encoded, false, options);
    REQUIRE(general.checked == 0);
    CHECK(fast.text == general.text);
    CHECK(fast.code == general.code);
    return fast;
}

/// What an object is made of, each encoded.
struct object_2 {
    bytes name;
    bytes shape;
    std::vector<bytes> roles;
    std::vector<bytes> blobs;
    bytes dtype = cbor::text("f32");
    bytes layout = cbor::text("dense");
    bytes digest = {};
    bytes decoded_length = {}; ///< with an encoding
};

bytes blob_2(std::uint64_t offset, std::uint64_t length) {
    return cbor::array({cbor::number(offset), cbor::number(length)});
}

bytes encoded_part_2(const object_2& of, const bytes& blob) {
    cbor::map part = {{"blob", blob}, {"dtype", of.dtype}};
    if (!of.digest.empty()) {
        part.set("digest", of.digest);
    }
    if (!of.decoded_length.empty()) {
        part.set("encoding", cbor::text("zt.zstd-seekable/1")).set("decoded_length", of.decoded_length);
    }
    return part;
}

bytes encoded_object_2(const object_2& of) {
    cbor::map parts;
    for (std::size_t i = 0; i < of.roles.size(); ++i) {
        parts.add(of.roles[i], encoded_part_2(of, of.blobs[i]));
    }
    return cbor::map{{"parts", parts.encoded()}, {"shape", of.shape}, {"layout", of.layout}};
}

/// A manifest of twelve objects, the last of which is changed before it is encoded.
bytes dozen_objects_2(const std::function<object_2(std::size_t)>& make,
                      const std::function<void(object_2&)>& change = {}) {
    cbor::map objects;
    for (std::size_t i = 0; i < dozen_2; ++i) {
        object_2 object = make(i);
        if (i == last_2 && change) {
            change(object);
        }
        objects.add(object.name, encoded_object_2(object));
    }
    return cbor::map{{"objects", objects.encoded()}};
}

bytes name_2(std::size_t i) {
    return cbor::text("layer." + std::to_string(100 + i));
}

object_2 dense_2(std::size_t i) {
    return {name_2(i), cbor::array({cbor::number(30)}), {cbor::text("data")}, {blob_2(4096 * (i + 1), 120)}};
}

object_2 dense_with_digest_2(std::size_t i) {
    object_2 made = dense_2(i);
    made.digest = cbor::text("xxh3:0123456789abcde" + std::string(1, "0123456789ab"[i]));
    return made;
}

object_2 compressed_2(std::size_t i) {
    object_2 made = dense_2(i);
    made.decoded_length = cbor::number(120);
    return made;
}

object_2 group_2(std::size_t i) {
    object_2 made = dense_2(i);
    made.layout = cbor::text("example.group/1");
    made.roles = {cbor::text("data"), cbor::text("zeros"), cbor::text("scales")};
    made.blobs = {blob_2(4096 * (3 * i + 1), 120), blob_2(4096 * (3 * i + 2), 120), blob_2(4096 * (3 * i + 3), 120)};
    return made;
}

} // namespace

TEST_CASE("objects of version 2 that are encoded alike are read by template, and need no other check if dense") {
    CHECK(read_both_ways(dozen_objects_2(dense_2)).checked >= last_2 - 1);
    CHECK(read_both_ways(dozen_objects_2(dense_with_digest_2)).checked >= last_2 - 1);
    const manifest_2_outcome several = read_both_ways(dozen_objects_2(group_2));
    CHECK(several.code == "ok");
    CHECK(several.checked == 0);
    for (const auto make : {dense_2, dense_with_digest_2, group_2}) {
        CHECK(read_both_ways(dozen_objects_2(make)).text.substr(0, 8) == "in order");
    }
    const auto swapped = [](std::size_t i) {
        object_2 made = dense_2(i);
        made.blobs[0] = blob_2(4096 * (dozen_2 - i), 120);
        return made;
    };
    CHECK(read_both_ways(dozen_objects_2(swapped)).text.substr(0, 8) != "in order");
}

TEST_CASE("what is wrong in the last of a dozen objects of version 2 that are encoded alike is found") {
    struct wrong_last {
        const char* what;
        std::function<object_2(std::size_t)> make;
        std::function<void(object_2&)> change;
        const char* code;
    };
    const auto head = [](cbor::major kind, std::uint64_t value, std::size_t size) {
        return cbor::head_of_size(kind, value, size);
    };
    const auto of_ones = [](std::size_t count) { return cbor::joined(std::vector<bytes>(count, cbor::number(1))); };
    constexpr auto numbers = cbor::major::unsigned_integer;
    const std::vector<wrong_last> cases = {
        {"nothing", dense_2, [](object_2&) {}, "ok"},
        {"a name with a head too long", dense_2,
         [&](object_2& last) { last.name = head(cbor::major::text, 9, 1) + bytes("layer.111"); },
         "cbor_not_deterministic"},
        {"a name of 23 bytes", dense_2, [](object_2& last) { last.name = cbor::text(std::string(23, 'n')); }, "ok"},
        {"a name of 24 bytes", dense_2, [](object_2& last) { last.name = cbor::text(std::string(24, 'n')); }, "ok"},
        {"a name of 255 bytes", dense_2, [](object_2& last) { last.name = cbor::text(std::string(255, 'n')); }, "ok"},
        {"a name of 256 bytes", dense_2, [](object_2& last) { last.name = cbor::text(std::string(256, 'n')); }, "ok"},
        {"a name twice", dense_2, [](object_2& last) { last.name = name_2(10); }, "duplicate_key"},
        {"a name before the one before", dense_2, [](object_2& last) { last.name = cbor::text("layer.10"); },
         "cbor_not_deterministic"},
        {"an empty name", dense_2, [](object_2& last) { last.name = cbor::text(""); }, "cbor_not_deterministic"},
        {"a name with U+0000", dense_2,
         [](object_2& last) { last.name = cbor::text(std::string_view("m\0ayer.11", 9)); }, "name_invalid"},
        {"a name that is not UTF-8", dense_2,
         [](object_2& last) {
             last.name = cbor::text("m\xff"
                                    "yer.111");
         },
         "cbor_utf8"},
        {"a shape of another rank", dense_2,
         [](object_2& last) {
             last.shape = cbor::array({cbor::number(5), cbor::number(6)});
         },
         "ok"},
        {"a shape of rank 24", dense_2,
         [](object_2& last) {
             std::vector<bytes> dimensions(24, cbor::number(1));
             dimensions[23] = cbor::number(30);
             last.shape = cbor::array(dimensions);
         },
         "ok"},
        {"a rank with a head too long", dense_2,
         [&](object_2& last) { last.shape = head(cbor::major::array, 1, 1) + cbor::number(30); },
         "cbor_not_deterministic"},
        {"a dimension with a head too long", dense_2,
         [&](object_2& last) { last.shape = cbor::array({head(numbers, 30, 2)}); }, "cbor_not_deterministic"},
        {"a dimension too many", dense_2, [](object_2& last) { last.shape = cbor::array({cbor::number(31)}); },
         "size_mismatch"},
        {"an overflowing shape", dense_2,
         [](object_2& last) {
             last.shape = cbor::array({cbor::number(std::uint64_t{1} << 33), cbor::number(std::uint64_t{1} << 31)});
         },
         "shape_overflow"},
        {"a rank of two bytes", dense_2, // of which a template might take the first for a dimension
         [&](object_2& last) { last.shape = head(cbor::major::array, 2, 2) + of_ones(24) + cbor::number(30); },
         "cbor_not_deterministic"},
        {"a shape that is a map", dense_2,
         [&](object_2& last) { last.shape = head(cbor::major::map, 1, 0) + of_ones(32) + cbor::number(30); },
         "schema_type"},
        {"a shape that is an array of indefinite length, and has no end", dense_2,
         [&](object_2& last) {
             last.shape = cbor::indefinite_head(cbor::major::array) + of_ones(30) + cbor::number(30);
         },
         "cbor_not_deterministic"},
        {"a shape of floats", dense_2, [](object_2& last) { last.shape = cbor::array({cbor::half_one}); },
         "schema_type"},
        {"an offset with a head too long", dense_2,
         [&](object_2& last) {
             last.blobs[0] = cbor::array({head(numbers, 4096 * 12, 4), cbor::number(120)});
         },
         "cbor_not_deterministic"},
        {"an offset that is shorter than its bytes", dense_2,
         [&](object_2& last) {
             last.blobs[0] = cbor::array({head(numbers, 0, 2), cbor::number(120)});
         },
         "cbor_not_deterministic"},
        {"a decoded length that is shorter than its bytes", compressed_2,
         [&](object_2& last) { last.decoded_length = head(numbers, 20, 1); }, "cbor_not_deterministic"},
        {"a length with a head too long", dense_2,
         [&](object_2& last) {
             last.blobs[0] = cbor::array({cbor::number(4096 * 12), head(numbers, 120, 2)});
         },
         "cbor_not_deterministic"},
        {"an offset that is none", dense_2, [](object_2& last) { last.blobs[0] = blob_2(4096 * 12 + 64, 120); },
         "misaligned_offset"},
        {"an offset of 0", dense_2, [](object_2& last) { last.blobs[0] = blob_2(0, 120); }, "out_of_bounds"},
        {"an offset beyond 64 bits", dense_2,
         [](object_2& last) { last.blobs[0] = blob_2(~std::uint64_t{0} - 4095, 4096); }, "out_of_bounds"},
        {"a length too small", dense_2, [](object_2& last) { last.blobs[0] = blob_2(4096 * 12, 119); },
         "size_mismatch"},
        {"the bytes of the one before", dense_2, [](object_2& last) { last.blobs[0] = blob_2(4096 * 11, 120); }, "ok"},
        {"a part of the bytes of the one before", dense_2,
         [](object_2& last) {
             last.blobs[0] = blob_2(4096 * 11, 116);
             last.shape = cbor::array({cbor::number(29)});
         },
         "blob_overlap"},
        {"bytes of the manifest", dense_2,
         [](object_2& last) {
             last.blobs[0] = blob_2(manifest_offset - 4096, 4100);
             last.shape = cbor::array({cbor::number(1025)});
         },
         "blob_overlap"},
        {"a digest in capital letters", dense_with_digest_2,
         [](object_2& last) { last.digest = cbor::text("xxh3:0123456789ABCDEF"); }, "digest_format"},
        {"a digest with another letter", dense_with_digest_2,
         [](object_2& last) { last.digest = cbor::text("xxh3:0123456789abcdeg"); }, "digest_format"},
        {"a role twice", group_2, [](object_2& last) { last.roles[1] = cbor::text("data"); }, "duplicate_key"},
        {"roles that fall", group_2, [](object_2& last) { last.roles[2] = cbor::text("yeros"); },
         "cbor_not_deterministic"},
        {"a role with a head too long", group_2,
         [&](object_2& last) { last.roles[1] = head(cbor::major::text, 5, 1) + bytes("zeros"); },
         "cbor_not_deterministic"},
        {"another role", group_2, [](object_2& last) { last.roles[1] = cbor::text("zerot"); }, "ok"},
        {"a second part out of place", group_2, [](object_2& last) { last.blobs[1] = blob_2(4096 * 35 + 8, 120); },
         "misaligned_offset"},
        {"a third part out of bounds", group_2,
         [](object_2& last) { last.blobs[2] = blob_2(manifest_offset + 4096, 8); }, "out_of_bounds"},
    };
    for (const wrong_last& each : cases) {
        CAPTURE(each.what);
        CHECK(read_both_ways(dozen_objects_2(each.make, each.change)).code == each.code);
    }
}

TEST_CASE("objects of version 2 that templates read are counted, and their parts") {
    const auto code = [](const bytes& encoded, const ztensor::read_options& options) {
        return read_both_ways(encoded, options).code;
    };
    const bytes dense = dozen_objects_2(dense_2), group = dozen_objects_2(group_2);
    CHECK(code(dense, ztensor::read_options().max_objects(dozen_2)) == "ok");
    CHECK(code(dense, ztensor::read_options().max_objects(dozen_2 - 1)) == "limit_exceeded");
    CHECK(code(group, ztensor::read_options().max_components_per_object(3)) == "ok");
    CHECK(code(group, ztensor::read_options().max_components_per_object(2)) == "limit_exceeded");
}

TEST_CASE("a required field of version 2 that is missing is named") {
    const bytes nameless = cbor::map{
        {"w", cbor::map{{"parts", cbor::map{{"data", cbor::map{{"blob", blob_2(4096, 4)}}.encoded()}}.encoded()},
                        {"shape", cbor::numbers({1})},
                        {"layout", cbor::text("dense")}}
                  .encoded()}};
    const manifest_2_outcome found = read_both_ways(cbor::map{{"objects", nameless}});
    CHECK(found.code == "schema_missing");
    CHECK(found.text.find("\"dtype\"") != std::string::npos);
}

TEST_CASE("a manifest of version 2 that is cut short is refused alike by templates and without them") {
    for (const auto make : {dense_with_digest_2, group_2}) {
        const bytes whole = dozen_objects_2(make);
        for (std::size_t size = 0; size < whole.size(); size += 3) {
            CAPTURE(size);
            CHECK(read_both_ways(whole.substr(0, size)).code != "ok");
        }
    }
}

TEST_CASE("a manifest of version 2 that is cut short is refused, although the memory behind it holds the rest") {
    for (const auto make : {dense_with_digest_2, group_2}) {
        const bytes whole = dozen_objects_2(make);
        for (const bool uses_templates : {false, true}) {
            for (std::size_t size = 1; size < whole.size(); ++size) {
                CAPTURE(uses_templates, size);
                const manifest_2_outcome found =
                    read_manifest_2(whole.substr(0, size), uses_templates, {}, whole.substr(size));
                CHECK(found.code == "cbor_truncated");
            }
        }
    }
}

namespace {

/// As much of anything behind `content` as templates may look at.
bytes with_reach(const bytes& content, char behind = '\1') {
    return content + bytes(detail::scan_reach_bytes, behind);
}

const std::byte* start_of(const bytes& content) {
    return support::bytes_of(content).data();
}

/// How many bytes a field takes; 0 if it is not passed.
std::size_t passed(const bytes& content, const std::byte* end) {
    return end == nullptr ? 0 : static_cast<std::size_t>(end - start_of(content));
}

} // namespace

TEST_CASE("templates pass shapes of every rank, in their shortest form alone where there is no other") {
    struct shape_case {
        bytes encoded;
        std::size_t strict, any; ///< bytes passed; 0: left to the general way
        std::uint64_t elements;
    };
    const auto ones = [](std::size_t count) { return cbor::joined(std::vector<bytes>(count, cbor::number(1))); };
    const auto rank = [](std::size_t count, std::size_t size) {
        return cbor::head_of_size(cbor::major::array, count, size);
    };
    const bytes seven = cbor::number(7), wide_seven = cbor::head_of_size(cbor::major::unsigned_integer, 7, 1);
    const std::vector<shape_case> cases = {
        {rank(0, 0), 1, 1, 1},
        {rank(1, 0) + seven, 2, 2, 7},
        {rank(3, 0) + seven + cbor::number(24) + cbor::number(2), 5, 5, 336},
        {rank(8, 0) + ones(7) + seven, 9, 9, 7},
        {rank(8, 0) + ones(8), 9, 9, 1},
        {rank(9, 0) + ones(9), 10, 10, 1},
        {rank(16, 0) + ones(16), 17, 17, 1},
        {rank(9, 0) + ones(8) + seven, 10, 10, 7},
        {rank(9, 0) + seven + ones(8), 10, 10, 7},
        {rank(9, 0) + cbor::number(0) + ones(8), 10, 10, 0},
        {rank(9, 0) + ones(8) + cbor::number(0), 10, 10, 0},
        {rank(10, 0) + ones(8) + seven + seven, 11, 11, 49},
        {rank(23, 0) + ones(22) + seven, 24, 24, 7},
        {rank(23, 1) + ones(22) + seven, 0, 25, 7},
        {rank(24, 1) + ones(23) + seven, 26, 26, 7},
        {rank(64, 1) + ones(63) + seven, 66, 66, 7},
        {rank(65, 1) + ones(65), 0, 0, 0},
        {rank(2, 2) + ones(24) + seven, 0, 0, 0}, // might be 25 dimensions
        {cbor::head(cbor::major::map, 1) + ones(32) + seven, 0, 0, 0},
        {cbor::indefinite_head(cbor::major::array) + ones(30) + seven, 0, 0, 0},
        {rank(1, 0) + wide_seven, 0, 3, 7},
        {rank(2, 0) + seven + wide_seven, 0, 4, 49},
        {rank(1, 0) + cbor::number(0), 2, 2, 0},
        {rank(2, 0) + seven + cbor::text("a"), 0, 0, 0},
        {rank(2, 0) + cbor::minus_one_minus(0) + seven, 0, 0, 0},
        {rank(2, 0) + cbor::number(std::uint64_t{1} << 33) + cbor::number(std::uint64_t{1} << 31), 0, 0, 0},
    };
    for (const shape_case& each : cases) {
        CAPTURE(support::to_hex(support::bytes_of(each.encoded)));
        const bytes content = with_reach(each.encoded);
        std::uint64_t elements = 0;
        CHECK(passed(content, detail::pass_shape<true>(start_of(content), elements)) == each.strict);
        CHECK((each.strict == 0 || elements == each.elements));
        CHECK(passed(content, detail::pass_shape<false>(start_of(content), elements)) == each.any);
        CHECK((each.any == 0 || elements == each.elements));
    }
}

TEST_CASE("templates pass unsigned integers of every width, and of the shortest where there is no other") {
    for (const std::uint64_t value :
         {0ULL, 1ULL, 23ULL, 24ULL, 255ULL, 256ULL, 65535ULL, 65536ULL, 0xffffffffULL, 0x100000000ULL, ~0ULL}) {
        for (const std::size_t size : {0U, 1U, 2U, 4U, 8U}) {
            if (size == 0 ? value > 23 : size < 8 && value >> (8 * size) != 0) {
                continue;
            }
            CAPTURE(value, size);
            const bytes encoded = cbor::head_of_size(cbor::major::unsigned_integer, value, size);
            const bytes content = with_reach(encoded);
            std::uint64_t found = 1;
            CHECK(passed(content, detail::pass_unsigned(start_of(content), found)) == encoded.size());
            CHECK(found == value);
            const bool is_shortest = encoded == cbor::number(value);
            CHECK(passed(content, detail::pass_shortest_unsigned(start_of(content), found)) ==
                  (is_shortest ? encoded.size() : 0));
        }
    }
    for (unsigned first = 0x1c; first < 256; ++first) {
        const bytes content = with_reach(bytes(1, static_cast<char>(first)));
        std::uint64_t found = 0;
        CHECK(detail::pass_unsigned(start_of(content), found) == nullptr);
        CHECK(detail::pass_shortest_unsigned(start_of(content), found) == nullptr);
    }
}

TEST_CASE("templates pass digits of every number, none of which is anything else") {
    std::size_t wrong = 0;
    for (std::size_t count = 1; count <= 18; ++count) {
        for (std::size_t place = 0; place < count; ++place) {
            for (unsigned value = 0; value < 256; ++value) {
                std::string digits(count, place % 2 == 0 ? 'a' : '9');
                digits[place] = static_cast<char>(value);
                // A multiple of 8 is looked at: the last word's rest must be digits as well, or the general way looks.
                const bytes content = with_reach(digits, '0');
                const bool is_lower = (value >= '0' && value <= '9') || (value >= 'a' && value <= 'f');
                const bool is_upper = value >= 'A' && value <= 'F';
                const std::size_t any = passed(content, detail::pass_digits(start_of(content), count, false));
                const std::size_t strict = passed(content, detail::pass_digits(start_of(content), count, true));
                wrong += any != (is_lower || is_upper ? count : 0);
                wrong += strict != (is_lower ? count : 0);
            }
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("templates pass names of ASCII without U+0000, whatever stands behind them") {
    std::size_t wrong = 0;
    for (const std::size_t size : {1U, 2U, 7U, 8U, 9U, 15U, 16U, 17U, 23U, 24U, 25U, 31U, 32U, 33U, 40U, 255U}) {
        for (std::size_t place = 0; place < size; ++place) {
            for (const unsigned value : {0U, 1U, 0x40U, 0x7fU, 0x80U, 0xffU}) {
                std::string text(size, 'n');
                text[place] = static_cast<char>(value);
                const bytes encoded = cbor::text(text);
                std::string_view name;
                for (const char behind : {'\0', '\xff'}) {
                    const bytes content = with_reach(encoded, behind);
                    const std::size_t end = passed(content, detail::pass_name(start_of(content), name));
                    const bool is_right = value != 0 && value < 0x80;
                    wrong += end != (is_right ? encoded.size() : 0) || (is_right && name != text);
                    const std::size_t strict = passed(content, detail::pass_shortest_name(start_of(content), name));
                    wrong += strict != end;
                    const bytes wide = with_reach(cbor::head_of_size(cbor::major::text, size, 1) + text, behind);
                    wrong += passed(wide, detail::pass_name(start_of(wide), name)) != (is_right ? size + 2 : 0);
                    wrong += passed(wide, detail::pass_shortest_name(start_of(wide), name)) !=
                             (is_right && size > 23 ? size + 2 : 0);
                }
            }
        }
    }
    CHECK(wrong == 0);
    for (const bytes& other : {cbor::text(""), cbor::number(5), cbor::byte_string("data"), cbor::numbers({1, 2}),
                               cbor::text(std::string(256, 'n')), cbor::chunked({"data"})}) {
        std::string_view name;
        const bytes content = with_reach(other, 'n');
        CHECK(detail::pass_name(start_of(content), name) == nullptr);
        CHECK(detail::pass_shortest_name(start_of(content), name) == nullptr);
    }
}

TEST_CASE("names that templates compare are in the order of their bytes, or of their sizes first") {
    const std::vector<std::string> names = {"a",
                                            "b",
                                            "ab",
                                            "abcdefg",
                                            "abcdefgh",
                                            "abcdefgi",
                                            "abcdefghi",
                                            "abcdefgh\xff",
                                            "bbcdefghi",
                                            "abcdefghabcdefgh",
                                            "abcdefghabcdefgi",
                                            "abcdefghabcdefghi",
                                            "z",
                                            std::string(40, 'q')};
    for (const std::string& left : names) {
        for (const std::string& right : names) {
            CAPTURE(left, right);
            const bytes behind_left = with_reach(left, 'x'), behind_right = with_reach(right, 'a');
            const auto a = std::string_view(behind_left).substr(0, left.size());
            const auto b = std::string_view(behind_right).substr(0, right.size());
            CHECK(detail::is_name_before(a, b) == (left < right));
            CHECK(detail::is_name_before_2(a, b) ==
                  (left.size() != right.size() ? left.size() < right.size() : left < right));
        }
    }
}

TEST_CASE("files that templates once took are refused") {
    const std::filesystem::path found = "tests/corpus/found";
    CHECK(support::refusal(ztensor::reader::open(found / "1.2-shape-that-is-a-map.zt")) == errc::schema_type);
    CHECK(support::refusal(ztensor::reader::open(found / "1.2-shape-without-an-end.zt")) == errc::schema_type);
    CHECK(support::refusal(ztensor::reader::open(found / "2-name-with-a-longer-head.zt")) ==
          errc::cbor_not_deterministic);
    CHECK(support::refusal(ztensor::reader::open(found / "2-shape-that-is-a-map.zt")) == errc::schema_type);
}
