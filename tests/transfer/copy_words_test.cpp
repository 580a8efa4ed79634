// SPDX-License-Identifier: MIT
//
// Copies between files of any two generations: what the target can hold does not change, unknown words included, and
// what it can't hold is refused by name. SPEC.md §8.4 and §10.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"
#include "transfer/copy_content.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::finished;
using support::golden;
using support::golden_path;
using support::opened;
using support::read_file;
using support::refusal;
using support::sample;
using support::stored;
using support::to_memory;
using things::check_odd_attributes;
using things::check_verbatim;
using things::coo_thing;
using things::copied;
using things::csr_thing;
using things::decoded_of;
using things::failed_copy;
using things::file_of_things;
using things::name_of;
using things::odd_attributes;
using things::odd_values;
using things::only;
using things::piece;
using things::small;
using things::thing;
using things::u64;
using things::versions;
using things::zstd_of;
using ztensor::copy_options;
using ztensor::copy_progress;
using ztensor::errc;
using ztensor::error;
using ztensor::format;
using ztensor::format_version;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
using ztensor::writer;
namespace cbor = support::cbor;

using namespace std::string_literals;

} // namespace

TEST_CASE("attributes of any value survive byte for byte, through every version that has them") {
    thing object = small;
    object.attributes = odd_attributes();
    for (const ztensor::version from : {version::v1_1, version::v1_2}) {
        const bytes file = file_of_things(from, {object}, odd_attributes());
        for (const format_version first : {format_version::v1_1, format_version::v1_2}) {
            for (const format_version second : {format_version::v1_1, format_version::v1_2}) {
                CAPTURE(name(from), name_of(first), name_of(second));
                const reader copy = opened(copied(copied(file, first), second));
                check_odd_attributes(copy.attributes());
                check_odd_attributes(copy.find("w").value().attributes());
            }
        }
        const reader by_way_of_0_1 = opened(
            copied(copied(file, format_version::v0_1, copy_options().file_attributes(false)), format_version::v1_2));
        check_odd_attributes(by_way_of_0_1.find("w").value().attributes());
        CHECK_FALSE(by_way_of_0_1.has_attributes());
    }
    const bytes in_1_0 =
        file_of_things(version::v1_0, {{"w", "dense", {2}, {{"data", "uint8", "ab"}}}}, odd_attributes());
    const reader from_1_0 = opened(copied(in_1_0, format_version::v1_2));
    check_odd_attributes(from_1_0.attributes());
}

TEST_CASE("custom keys of 0.1 become attributes, and custom keys again") {
    sample file(version::v0_1);
    for (const auto& [key, value] : odd_values) {
        file.object_map().add(cbor::text(key), value);
    }
    for (const format_version by_way_of : versions) {
        const bytes once = copied(file.file(), by_way_of);
        const reader copy = opened(once);
        check_odd_attributes(copy.find("w").value().attributes());
        const reader back = opened(copied(once, format_version::v0_1));
        check_odd_attributes(back.find("w").value().attributes());
    }
}

TEST_CASE("no attributes and no attributes at all stay two things") {
    thing with_none = small;
    with_none.attributes = cbor::map().encoded();
    for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
        const reader empty = opened(copied(file_of_things(version::v1_2, {with_none}, cbor::map().encoded()), target));
        CHECK(empty.has_attributes());
        CHECK(empty.attributes().empty());
        CHECK(empty.find("w").value().has_attributes());
        const reader none = opened(copied(file_of_things(version::v1_2, {small}), target));
        CHECK_FALSE(none.has_attributes());
        CHECK_FALSE(none.find("w").value().has_attributes());
    }
    CHECK(opened(copied(file_of_things(version::v1_2, {with_none}, cbor::map().encoded()), format_version::v0_1))
              .size() == 1);
}

TEST_CASE("attributes of the file are left out where that is asked for") {
    const bytes file = file_of_things(version::v1_2, {small}, odd_attributes());
    CHECK_FALSE(opened(copied(file, format_version::v1_2, copy_options().file_attributes(false))).has_attributes());
    CHECK(opened(copied(file, format_version::v0_1, copy_options().file_attributes(false))).size() == 1);
}

namespace {

/// Every word that can be unknown, alone and beside others; bools among them, which a copy may have to look at.
std::vector<thing> unknown_things() {
    return {
        {"dtype", "dense", {3}, {{"data", "f128", "any size at all"}}},
        {"dtype, compressed", "dense", {3}, {{"data", "i4", support::zstd::frame_of("twelve bytes"), zstd_of(12)}}},
        {"type", "dense", {32}, {{"data", "u8", bytes(16, 'x'), {{"type", cbor::text("f4_e2m1x2")}}}}},
        {"encoding",
         "dense",
         {4},
         {{"data", "f32", "any size", {{"encoding", cbor::text("lz4")}, {"uncompressed_length", cbor::number(16)}}}}},
        {"encoding without size", "dense", {4}, {{"data", "f32", "any", {{"encoding", cbor::text("")}}}}},
        {"digest", "dense", {2}, {{"data", "u8", "ab", {{"digest", cbor::text("blake3:abcdef")}}}}},
        {"format", "block_sparse", {2, 2}, {{"blocks", "f32", bytes(16, 'b')}, {"mask", "bool", "\1\0\1\0"s}}},
        {"all",
         "own",
         {7},
         {{"role",
           "f24",
           "???",
           {{"type", cbor::text("?")}, {"encoding", cbor::text("??")}, {"digest", cbor::text("?:?")}}}}},
        {"type over bools", "dense", {4}, {{"data", "bool", "\1\0\1\0"s, {{"type", cbor::text("mask")}}}}},
        {"more roles", "dense", {2}, {{"data", "u8", "ab"}, {"more", "f128", "cd"}}},
        {"a type of no letters", "dense", {2}, {{"data", "f32", bytes(4, 'x'), {{"type", cbor::text("")}}}}},
        {"a digest of no letters", "dense", {2}, {{"data", "u8", "ab", {{"digest", cbor::text("")}}}}},
        {"a dtype that is one in 0.1", "dense", {2}, {{"data", "float32", "ab"}}},
        {"a dtype that is one in 1.1", "dense", {2}, {{"data", "complex64", "ab"}}},
    };
}

} // namespace

TEST_CASE("unknown words survive a copy to the same version, and their blobs are as they were") {
    const bytes file = file_of_things(version::v1_2, unknown_things());
    check_verbatim(file, copied(file, format_version::v1_2));
    const bytes golden = read_file(golden_path("s1.2-unknown-vocabulary.zt"));
    check_verbatim(golden, copied(golden, format_version::v1_2));
    // Twice the same: nothing of the first copy differs from what the second is given.
    CHECK(copied(copied(file, format_version::v1_2), format_version::v1_2) == copied(file, format_version::v1_2));
}

TEST_CASE("bools in an unknown encoding are copied as they are stored") {
    const bytes file = file_of_things(
        version::v1_2, {{"w", "dense", {4}, {{"data", "bool", "any", {{"encoding", cbor::text("lz4")}}}}}});
    for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
        const result<void> done = [&] {
            const reader from = opened(file);
            writer to = to_memory(target);
            return copy(from, to);
        }();
        INFO((done ? "" : done.error().what()));
        CHECK(done.has_value());
    }
}

TEST_CASE("what is copied as it is stored is not decoded, but compared with its digest unless the reader checks none") {
    const std::vector<thing> things = {
        {"no zstd frame", "dense", {8}, {{"data", "u8", "zzzz", zstd_of(8)}}},
        {"another digest", "dense", {2}, {{"data", "u8", "ab", {{"digest", cbor::text("crc32c:0x00000000")}}}}},
    };
    const bytes file = file_of_things(version::v1_2, things);
    CHECK(failed_copy(file, format_version::v1_2).code() == errc::digest_mismatch);
    const reader lenient = opened(file, ztensor::read_options().verify_digests(false));
    ztensor::writer to = support::to_memory(format_version::v1_2);
    REQUIRE(ztensor::copy(lenient, to));
    check_verbatim(file, support::finished(to));
    for (const thing& each : things) {
        const error why = failed_copy(file, format_version::v1_2, only(each.name).reencode());
        CHECK((why.code() == errc::decode_failed || why.code() == errc::digest_mismatch));
        CHECK(why.object() == each.name);
        CHECK(why.component() == "data");
    }
}

TEST_CASE("what can't be decoded can't be encoded anew, and the error says why") {
    const bytes file = file_of_things(version::v1_2, unknown_things());
    CHECK(failed_copy(file, format_version::v1_2, only("dtype").reencode()).code() == errc::unknown_dtype);
    CHECK(failed_copy(file, format_version::v1_2, only("encoding").reencode()).code() == errc::unsupported_encoding);
    const reader again = opened(copied(file, format_version::v1_2, only("type").reencode()));
    CHECK(again.find("type").value().component("data")->type().text() == "f4_e2m1x2");
    const reader without = opened(copied(file, format_version::v1_2, only("digest").reencode()));
    CHECK(without.find("digest").value().component("data")->digest().text().empty()); // of bytes that may be new
}

namespace {

struct inexpressible {
    const char* rule;
    format_version target;
    bytes file;
    const char* named; ///< in the message
};

thing with_piece(thing object, piece added) {
    object.pieces.push_back(std::move(added));
    return object;
}

thing with_words_type(thing object, const char* type) {
    object.pieces.front().more.set("type", cbor::text(type));
    return object;
}

thing with_attribute(thing object, const char* key) {
    object.attributes = cbor::map{{key, cbor::null}}.encoded();
    return object;
}

} // namespace

TEST_CASE("what the target's version can't hold is refused by name, and nothing of the object is written") {
    const auto v0_1 = format_version::v0_1;
    const auto v1_1 = format_version::v1_1;
    const auto file = [](const thing& object) { return file_of_things(version::v1_2, {object}); };
    const inexpressible rows[] = {
        {"a logical type in 1.1", v1_1, file(with_words_type(small, "f8_e4m3fnuz")), "f8_e4m3fnuz"},
        {"an unknown logical type in 1.1", v1_1, file(with_words_type(small, "q4.4")), "q4.4"},
        {"a logical type in 0.1", v0_1, file(with_words_type(small, "f8_e4m3fn")), "f8_e4m3fn"},
        {"a dtype of 1.1 in 0.1", v0_1,
         file_of_things(version::v1_1, {{"w", "dense", {1}, {{"data", "complex64", bytes(8, 'c')}}}}), "complex64"},
        {"a known type over a dtype that is unknown", v1_1,
         file({"w", "dense", {1}, {{"data", "f32x", "any", {{"type", cbor::text("complex64")}}}}}), "complex64"},
        {"a dtype that has a meaning in 1.1", v1_1, file({"w", "dense", {1}, {{"data", "complex64", "any"}}}),
         "complex64"},
        {"a dtype that has a meaning in 0.1", v0_1, file({"w", "dense", {1}, {{"data", "float32", "any"}}}), "float32"},
        {"the size of what is in an unknown encoding, in 1.1", v1_1,
         file({"w",
               "dense",
               {4},
               {{"data", "u8", "any", {{"encoding", cbor::text("lz4")}, {"uncompressed_length", cbor::number(4)}}}}}),
         "lz4"},
        {"two digests in one sparse object of 0.1", v0_1,
         file({"m",
               "sparse_coo",
               {3},
               {{"values", "f32", bytes(4, 'c')},
                {"coords", "u64", u64({1}), {{"digest", cbor::text("crc32c:0x00000000")}}}}}),
         "digests"},
        {"two encodings in one sparse object of 0.1", v0_1,
         file({"m",
               "sparse_coo",
               {3},
               {{"values", "f32", bytes(4, 'c')}, {"coords", "u64", support::zstd::frame_of(u64({1})), zstd_of(8)}}}),
         "encodings"},
        {"quantized weights in 0.1", v0_1,
         file({"w",
               "quantized_group",
               {2},
               {{"packed_weight", "u8", "a"}, {"scales", "u8", "b"}, {"zeros", "u8", "c"}}}),
         "quantized_group"},
        {"a format of several components in 0.1", v0_1, file({"w", "own", {2}, {{"a", "u8", "a"}, {"b", "u8", "b"}}}),
         "own"},
        {"more components than dense has in 0.1", v0_1, file(with_piece(small, {"mask", "u8", "c"})), "component"},
        {"a field of 0.1 as an attribute", v0_1, file(with_attribute(small, "offset")), "offset"},
        {"the name as an attribute", v0_1, file(with_attribute(small, "name")), "name"},
        {"the checksum as an attribute", v0_1, file(with_attribute(small, "checksum")), "checksum"},
        {"the layout as an attribute of a sparse object", v0_1, file(with_attribute(csr_thing, "layout")), "layout"},
        {"complex numbers in a sparse matrix of 0.1", v0_1,
         file({"m",
               "sparse_coo",
               {3},
               {{"values", "f32", bytes(8, 'c'), {{"type", cbor::text("complex64")}}}, {"coords", "u64", u64({1})}}}),
         "complex64"},
    };
    for (const inexpressible& row : rows) {
        CAPTURE(row.rule);
        const reader from = opened(row.file);
        writer to = to_memory(row.target);
        to.add("first", {2}, std::vector<std::uint8_t>{1, 2}).value();
        const result<void> done = copy(from, to);
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().code() == errc::not_expressible);
        CHECK(done.error().object() == std::string(from.begin().operator*().name()));
        CAPTURE(done.error().what());
        CHECK(done.error().what().find(row.named) != std::string::npos);
        writer untouched = to_memory(row.target);
        untouched.add("first", {2}, std::vector<std::uint8_t>{1, 2}).value();
        CHECK(finished(to) == finished(untouched));
    }
}

TEST_CASE("a sparse object with more components than its format has is not expressible in 0.1") {
    for (const thing& object : {csr_thing, coo_thing}) {
        const bytes file = file_of_things(version::v1_2, {with_piece(object, {"mask", "u8", "ab"})});
        const reader from = opened(file);
        writer to = to_memory(format_version::v0_1);
        const result<void> done = copy(from, to);
        REQUIRE_FALSE(done.has_value()); // else the mask is lost without a word
        CHECK(done.error().code() == errc::not_expressible);
    }
}

TEST_CASE("a format of its own with one component is not expressible in 0.1") {
    for (const char* const format : {"own", "sparsecsr", "sparse"}) {
        CAPTURE(format);
        const reader from = opened(file_of_things(version::v1_2, {{"w", format, {2, 2}, {{"data", "u8", "any"}}}}));
        writer to = to_memory(format_version::v0_1);
        const result<void> done = copy(from, to);
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().code() == errc::not_expressible);
        CHECK(done.error().what().find(format) != std::string::npos);
    }
}

TEST_CASE("an unknown layout of 0.1 is copied within 0.1, and becomes a format in later versions") {
    sample file(version::v0_1);
    file.object("layout", cbor::text("blocked")).object("custom", cbor::number(7)).blob("any four");
    for (const format_version target : versions) {
        const reader copy = opened(copied(file.file(), target));
        const object_view object = copy.find("w").value();
        CHECK(object.format().text() == "blocked");
        CHECK(object.format().original() == "blocked");
        CHECK(decoded_of(object.component("data").value()) == "any four");
        CHECK(object.attributes().integer("custom").value() == 7);
    }
}

TEST_CASE("the blob of an unknown layout of 0.1 stays as it is, or is refused where its byte order would change") {
    sample bools(version::v0_1);
    bools.object("layout", cbor::text("blocked")).dtype("bool").shape({4}).blob("\5\0\7\xc8"s);
    sample big(version::v0_1);
    big.object("layout", cbor::text("blocked")).object("data_endianness", cbor::text("big")).blob("01234567");
    for (const format_version target : versions) {
        const reader copy = opened(copied(bools.file(), target));
        CHECK(decoded_of(copy.find("w")->component("data").value()) == "\5\0\7\xc8"s);
    }
    CHECK(failed_copy(big.file(), format_version::v1_2).code() == errc::not_expressible);
    CHECK(failed_copy(big.file(), format_version::v1_1).code() == errc::not_expressible);
    const reader within = opened(copied(big.file(), format_version::v0_1));
    CHECK(within.find("w")->component("data")->is_big_endian());
    CHECK(decoded_of(within.find("w")->component("data").value()) == "01234567");
}

TEST_CASE("the byte order of an unknown dtype of 0.1 is kept, or refused") {
    sample file(version::v0_1);
    file.object("dtype", cbor::text("float128")).object("data_endianness", cbor::text("big"));
    CHECK(failed_copy(file.file(), format_version::v1_2).code() == errc::not_expressible);
    const reader within = opened(copied(file.file(), format_version::v0_1));
    CHECK(within.find("w")->component("data")->is_big_endian());
    CHECK(within.find("w")->component("data")->dtype().original() == "float128");
}

TEST_CASE("a layout of 0.1 that is spelled as later versions do is unknown, and does not become known in a copy") {
    for (const char* const spelling : {"sparse_coo", "sparse_csr", "quantized_group"}) {
        sample file(version::v0_1);
        file.object("layout", cbor::text(spelling));
        for (const format_version target : versions) {
            CAPTURE(spelling, name_of(target));
            if (target == format_version::v0_1) { // unknown there, and so in the copy
                const reader copy = opened(copied(file.file(), target));
                CHECK(copy.find("w")->format().text() == spelling);
                CHECK_FALSE(copy.find("w")->format().known());
                CHECK(copy.find("w")->component("data")->stored_bytes() == 8);
            } else {
                CHECK(failed_copy(file.file(), target).code() == errc::not_expressible);
            }
        }
    }
}

TEST_CASE("a sparse object whose data is damaged is not given a new digest") {
    const cbor::map wrong = {{"digest", cbor::text("crc32c:0x00000000")}};
    const auto damaged = [&](ztensor::version from, const char* index_dtype, const bytes& indices) {
        return file_of_things(from,
                              {{"m",
                                "sparse_coo",
                                {3},
                                {{"values", "f32", bytes(4, 'c'), wrong}, {"coords", index_dtype, indices, wrong}}}});
    };
    sample in_0_1(version::v0_1);
    in_0_1.shape({3})
        .object("layout", cbor::text("sparsecoo"))
        .blob(u64({1}) + bytes(4, 'c'))
        .object("checksum", cbor::text("crc32c:0x00000000"));
    CHECK(failed_copy(damaged(version::v1_2, "u64", u64({1})), format_version::v0_1).code() == errc::digest_mismatch);
    CHECK(failed_copy(damaged(version::v1_1, "i32", "\1\0\0\0"s), format_version::v1_2).code() ==
          errc::digest_mismatch);
    CHECK(failed_copy(in_0_1.file(), format_version::v1_2).code() == errc::digest_mismatch);
}

TEST_CASE("a copy that is made while another one goes on mixes no blobs up") {
    const reader outer = opened(file_of_things(
        version::v1_2, {{"a", "dense", {1}, {{"data", "u8", "1"}}}, {"b", "dense", {1}, {{"data", "u8", "2"}}}}));
    const reader inner = opened(file_of_things(version::v1_2, {{"c", "dense", {1}, {{"data", "u8", "7"}}}}));
    writer to = to_memory(format_version::v1_2);
    copy(outer, to, copy_options().progress([&](const copy_progress& progress) {
        const auto stored = inner.find("c")->data().value();
        const std::string name = "by hand beside " + std::string(progress.object);
        to.add_object(name, ztensor::object_draft("dense", {1}).component_stored("data", stored)).value();
        copy(inner, to, copy_options().rename([&](std::string_view) {
            return "copied beside " + std::string(progress.object);
        })).value();
        return true;
    })).value();
    const reader copy = opened(finished(to));
    CHECK(decoded_of(copy.find("a")->data().value()) == "1");
    CHECK(decoded_of(copy.find("b")->data().value()) == "2");
    for (const char* const name : {"by hand beside a", "copied beside a", "by hand beside b", "copied beside b"}) {
        CHECK(decoded_of(copy.find(name)->data().value()) == "7");
    }
}

TEST_CASE("an unknown logical type does not become none where data is encoded anew") {
    const auto typed = [](const char* type) { return cbor::map{{"type", cbor::text(type)}}; };
    const bytes dense =
        file_of_things(version::v1_2, {{"w", "dense", {1}, {{"data", "f32", bytes(4, 'c'), typed("")}}}});
    const bytes sparse = file_of_things(
        version::v1_2,
        {{"m", "sparse_coo", {3}, {{"values", "f32", bytes(4, 'c'), typed("")}, {"coords", "u64", u64({1})}}}});
    for (const format_version target : {format_version::v0_1, format_version::v1_1}) {
        CHECK(failed_copy(dense, target, copy_options().reencode()).code() == errc::not_expressible);
        CHECK(failed_copy(sparse, target, copy_options().reencode()).code() == errc::not_expressible);
    }
    CHECK(failed_copy(sparse, format_version::v0_1).code() == errc::not_expressible);
    const reader anew = opened(copied(dense, format_version::v1_2, copy_options().reencode()));
    CHECK(anew.find("w")->data()->type().is_present());
    CHECK(!anew.find("w")->data()->type().is_known());
    CHECK(anew.find("w")->data()->type().text().empty());
    // In 1.1 the first word makes it complex, and the second contradicts that.
    const bytes torn =
        file_of_things(version::v1_1, {{"w", "dense", {1}, {{"data", "complex64", bytes(8, 'c'), typed("f32")}}}});
    for (const format_version target : versions) {
        CHECK(failed_copy(torn, target).code() == errc::not_expressible);
    }
}

TEST_CASE("a dtype of no letters is as unknown in the copy") {
    const bytes file = file_of_things(version::v1_1, {{"w", "dense", {1}, {{"data", "", "any"}}}});
    for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
        const reader copy = opened(copied(file, target));
        CHECK_FALSE(copy.find("w")->data()->dtype().is_known());
        CHECK(decoded_of(copy.find("w")->data().value()) == "any");
    }
}

TEST_CASE("attributes of the file are added to those that the target has") {
    const reader from = opened(
        file_of_things(version::v1_2, {small}, cbor::map{{"a", cbor::number(1)}, {"b", cbor::number(2)}}.encoded()));
    writer to = to_memory(format_version::v1_2);
    to.attributes(ztensor::attributes().set("b", 7).set("c", 3)).value();
    copy(from, to).value();
    const reader copy = opened(finished(to));
    CHECK(copy.attributes().size() == 3);
    CHECK(copy.attributes().integer("a").value() == 1);
    CHECK(copy.attributes().integer("b").value() == 2);
    CHECK(copy.attributes().integer("c").value() == 3);
}

TEST_CASE("an unknown dtype does not become a known one in another version") {
    const auto check = [](const bytes& file, format_version target) {
        const reader from = opened(file);
        CHECK_FALSE(from.begin().operator*().begin().operator*().dtype().is_known());
        writer to = to_memory(target);
        if (copy(from, to)) {
            const reader copy = opened(finished(to));
            CHECK_FALSE(copy.begin().operator*().begin().operator*().dtype().is_known());
        }
    };
    check(file_of_things(version::v1_2, {{"w", "dense", {2}, {{"data", "float32", bytes(8, 'x')}}}}),
          format_version::v0_1);
    check(file_of_things(version::v1_2, {{"w", "dense", {1}, {{"data", "complex64", bytes(8, 'x')}}}}),
          format_version::v1_1);
    sample in_0_1(version::v0_1);
    in_0_1.object("dtype", cbor::text("f32"));
    check(in_0_1.file(), format_version::v1_2);
}

TEST_CASE("attributes of the file are not expressible in 0.1") {
    CHECK(failed_copy(file_of_things(version::v1_2, {small}, odd_attributes()), format_version::v0_1).code() ==
          errc::not_expressible);
}

TEST_CASE("after an error the objects before it are in the file") {
    const bytes file = file_of_things(version::v1_2, {{"z", "dense", {2}, {{"data", "u8", "ab"}}},
                                                      with_words_type(small, "q4.4"),
                                                      {"a", "dense", {2}, {{"data", "u8", "cd"}}}});
    const reader from = opened(file);
    writer to = to_memory(format_version::v1_1);
    CHECK(refusal(copy(from, to)) == errc::not_expressible);
    const reader half = opened(finished(to));
    CHECK(half.size() == 1);
    CHECK(half.contains("z"));
}
