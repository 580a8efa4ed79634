// SPDX-License-Identifier: MIT
//
// Copies between files of any two generations: what each spells otherwise, tied weights, and which objects are copied
// under which names. SPEC.md §8.4 and §10.
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
#include <ztensor/digest.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::finished;
using support::integers;
using support::little_endian;
using support::opened;
using support::refusal;
using support::sample;
using support::stored;
using support::swapped;
using support::to_memory;
using things::check_verbatim;
using things::copied;
using things::decoded_of;
using things::f32_bits;
using things::failed_copy;
using things::file_of_things;
using things::name_of;
using things::only;
using things::piece;
using things::stored_of;
using things::thing;
using things::u64;
using things::versions;
using ztensor::component_view;
using ztensor::copy_options;
using ztensor::copy_progress;
using ztensor::csr_view;
using ztensor::digest;
using ztensor::digest_state;
using ztensor::digest_text;
using ztensor::dtype;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
using ztensor::writer;
namespace cbor = support::cbor;

using namespace std::string_literals;

bytes crc32c_of(const bytes& content) {
    return ztensor::digest_text(ztensor::digest::crc32c, support::to_vector(content));
}

} // namespace

TEST_CASE("big-endian data are swapped in later versions, with a digest of the same algorithm") {
    const std::pair<const char*, std::size_t> types[] = {{"f64", 8}, {"f32", 4}, {"f16", 2}, {"bf16", 2},
                                                         {"i64", 8}, {"i32", 4}, {"i16", 2}, {"u64", 8},
                                                         {"u32", 4}, {"u16", 2}, {"u8", 1},  {"i8", 1}};
    bytes content;
    for (int i = 0; i < 48; ++i) {
        content += static_cast<char>(i * 37);
    }
    for (const auto& [dtype, width] : types) {
        for (const char* const algorithm : {"", "crc32c", "sha256", "blake3"}) {
            sample file(version::v0_1);
            file.dtype(dtype).shape({48 / width}).blob(content).object("data_endianness", cbor::text("big"));
            const std::string word = algorithm;
            const bytes digest = word == "crc32c"   ? crc32c_of(content)
                                 : word == "sha256" ? digest_text(ztensor::digest::sha256, support::to_vector(content))
                                                    : word + ":?";
            if (!word.empty()) {
                file.component("digest", cbor::text(digest));
            }
            for (const bool is_anew : {false, true}) {
                CAPTURE(dtype, algorithm, is_anew);
                for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
                    const reader copy = opened(copied(file.file(), target, copy_options().reencode(is_anew)));
                    const component_view data = copy.find("w").value().component("data").value();
                    CHECK(decoded_of(data) == (width > 1 ? swapped(content, width) : content));
                    CHECK(data.dtype().text() == dtype);
                    CHECK_FALSE(data.is_big_endian());
                    const bool is_kept = word != "blake3" || (width == 1 && !is_anew);
                    CHECK(std::string(data.digest().text()).substr(0, data.digest().text().find(':')) ==
                          (is_kept ? word : ""));
                    CHECK(data.verify().value() == (word == "crc32c" || word == "sha256" ? digest_state::match
                                                    : word.empty() || !is_kept           ? digest_state::absent
                                                                                         : digest_state::unsupported));
                }
                const reader same = opened(copied(file.file(), format_version::v0_1, copy_options().reencode(is_anew)));
                const component_view data = same.find("w").value().component("data").value();
                CHECK(data.is_big_endian() == (width > 1));
                CHECK(decoded_of(data) == content);
            }
        }
    }
}

TEST_CASE("bools of 0.1 of any byte become 0 and 1 in later versions") {
    const bytes bools = "\0\1\2\x80\xff\0"s;
    const bytes normal = "\0\1\1\1\1\0"s;
    for (const bool is_zstd : {false, true}) {
        for (const bool is_anew : {false, true}) {
            sample file(version::v0_1);
            file.dtype("bool").shape({6}).blob(bools);
            const bytes stored = is_zstd ? support::zstd::frame_of(bools) : bools;
            if (is_zstd) {
                file.zstd_blob(stored, 6);
            }
            file.component("digest", cbor::text(crc32c_of(stored)));
            CAPTURE(is_zstd, is_anew);
            for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
                const reader copy = opened(copied(file.file(), target, copy_options().reencode(is_anew)));
                const component_view data = copy.find("w").value().component("data").value();
                CHECK(decoded_of(data) == normal);
                CHECK(data.dtype() == ztensor::dtype::boolean);
                CHECK(data.encoding().text() == (is_zstd ? "zstd" : "raw"));
                CHECK(data.digest().text().substr(0, 7) == "crc32c:");
                CHECK(data.verify().value() == digest_state::match);
                const auto read = copy.read<bool>("w");
                CHECK((read.has_value() && *read == std::vector<bool>{false, true, true, true, true, false}));
            }
            const bytes same = copied(file.file(), format_version::v0_1);
            CHECK(decoded_of(same, "w") == bools);
        }
    }
}

TEST_CASE("bools of 0.1 in a sparse tensor become 0 and 1 in later versions") {
    for (const bool is_csr : {false, true}) {
        sample file(version::v0_1);
        file.dtype("bool").shape({1, 3}).object("layout", cbor::text(is_csr ? "sparsecsr" : "sparsecoo"));
        file.blob(is_csr ? u64({0, 2}) + u64({0, 2}) + "\2\xff" : u64({0, 0}) + "\2" + u64({0, 2}) + "\xff");
        sample arrays(version::v0_1);
        arrays.dtype("bool").shape({1, 3}).blob("\2\xff").object("layout", cbor::text("sparse"));
        if (is_csr) {
            arrays.object("sparse_format", cbor::text("csr"))
                .object("indptr", cbor::numbers({0, 2}))
                .object("indices", cbor::numbers({0, 2}));
        } else {
            arrays.object("sparse_format", cbor::text("coo")).object("coords", cbor::numbers({0, 0, 0, 2}));
        }
        for (const sample& each : {file, arrays}) {
            for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
                CAPTURE(is_csr, name_of(target));
                const reader copy = opened(copied(each.file(), target));
                CHECK(decoded_of(copy.find("w").value().component("values").value()) == "\1\1");
            }
        }
    }
}

TEST_CASE("bools of later versions are not touched, whatever their bytes") {
    const bytes bools = "\0\1\2\xff"s;
    const bytes file = file_of_things(
        version::v1_2, {{"w", "dense", {4}, {{"data", "bool", bools, {{"digest", cbor::text(crc32c_of(bools))}}}}}});
    for (const format_version target : {format_version::v1_1, format_version::v1_2}) {
        const reader copy = opened(copied(file, target));
        CHECK(decoded_of(copy.find("w").value().component("data").value()) == bools);
        CHECK(copy.find("w").value().component("data")->digest().text() == crc32c_of(bools));
        CHECK(refusal(copy.read<bool>("w")) == errc::bad_bool); // as in the original
    }
}

TEST_CASE("an attribute of 0.1 that later versions would nest too deep is refused when it is copied") {
    for (const std::size_t levels :
         {60U, 61U, 62U}) { // 64 in all, with those around it: 2 in 0.1, 4 in an object of 1.2
        CAPTURE(levels);
        const bytes deep = support::repeated(levels, "\x81") + "\x01";
        const reader from = opened(sample(version::v0_1).object("custom", deep).file());
        const bool is_refused = levels > 60;
        writer to = to_memory(format_version::v1_2);
        CHECK(support::outcome(ztensor::copy(from, to)) == (is_refused ? "cbor_depth" : "ok"));
        writer same = to_memory(format_version::v0_1);
        CHECK(support::outcome(ztensor::copy(from, same)) == "ok");
    }
}

TEST_CASE("sparse tensors of 0.1 become parts, stored as the blob was, and one blob again") {
    const bytes csr_blob = u64({0, 1, 2}) + u64({0, 2}) + f32_bits({0x40a00000, 0x40e00000});
    const bytes coo_blob = u64({0, 0}) + f32_bits({0x40a00000}) + u64({1, 2}) + f32_bits({0x40e00000});
    for (const bool is_csr : {false, true}) {
        for (const bool is_zstd : {false, true}) {
            const bytes plain = is_csr ? csr_blob : coo_blob;
            const bytes stored = is_zstd ? support::zstd::frame_of(plain) : plain;
            sample file(version::v0_1);
            file.shape({2, 3}).object("layout", cbor::text(is_csr ? "sparsecsr" : "sparsecoo")).blob(stored);
            if (is_zstd) {
                file.zstd_blob(stored, 0);
            }
            file.component("digest", cbor::text(crc32c_of(stored))).object("custom", cbor::number(7));
            CAPTURE(is_csr, is_zstd);
            for (const format_version by_way_of : {format_version::v1_1, format_version::v1_2}) {
                const bytes in_parts = copied(file.file(), by_way_of);
                const reader copy = opened(in_parts);
                const object_view object = copy.find("w").value();
                CHECK(object.size() == (is_csr ? 3 : 2));
                CHECK(decoded_of(object.component("values").value()) == f32_bits({0x40a00000, 0x40e00000}));
                if (is_csr) {
                    CHECK(decoded_of(object.component("indices").value()) == u64({0, 2}));
                    CHECK(decoded_of(object.component("indptr").value()) == u64({0, 1, 2}));
                    // In the order that the reference writes them in.
                    CHECK(object.component("values")->offset() < object.component("indices")->offset());
                    CHECK(object.component("indices")->offset() < object.component("indptr")->offset());
                } else {
                    CHECK(decoded_of(object.component("coords").value()) == u64({0, 1, 0, 2}));
                }
                for (const component_view component : object) {
                    CHECK(component.encoding().text() == (is_zstd ? "zstd" : "raw"));
                    CHECK(component.digest().text().substr(0, 7) == "crc32c:");
                    CHECK(component.verify().value() == digest_state::match);
                }
                CHECK(object.attributes().integer("custom").value() == 7);
                const reader back = opened(copied(in_parts, format_version::v0_1));
                CHECK(decoded_of(back.find("w").value().component("data").value()) == plain);
                CHECK(back.find("w").value().format().original() == (is_csr ? "sparsecsr" : "sparsecoo"));
                CHECK(back.verify().value().complete());
            }
        }
    }
}

TEST_CASE("the other spelling of 0.1, with index arrays in the manifest, becomes one blob or parts") {
    sample csr(version::v0_1);
    csr.shape({2, 3})
        .blob(f32_bits({0x40a00000, 0x40e00000}))
        .object("layout", cbor::text("sparse"))
        .object("sparse_format", cbor::text("csr"));
    csr.object("indptr", cbor::numbers({0, 1, 2}))
        .object("indices", cbor::numbers({0, 2}))
        .object("custom", cbor::number(7));
    sample coo(version::v0_1);
    coo.shape({2, 3})
        .blob(f32_bits({0x40a00000, 0x40e00000}))
        .object("layout", cbor::text("sparse"))
        .object("sparse_format", cbor::text("coo"));
    coo.object("coords", cbor::numbers({0, 1, 0, 2})).object("custom", cbor::number(7));
    for (const format_version target : versions) {
        CAPTURE(name_of(target));
        const reader of_csr = opened(copied(csr.file(), target));
        CHECK(csr_view<float>::from(*of_csr.find("w")).value().to_dense().value() ==
              std::vector<float>{5, 0, 0, 0, 0, 7});
        const reader of_coo = opened(copied(coo.file(), target));
        CHECK(ztensor::coo_view<float>::from(*of_coo.find("w")).value().to_dense().value() ==
              std::vector<float>{5, 0, 0, 0, 0, 7});
        for (const reader& each : {of_csr, of_coo}) {
            CHECK(each.find("w").value().attributes().size() == 1);
            CHECK(each.find("w").value().attributes().integer("custom").value() == 7);
        }
    }
}

TEST_CASE("a sparse tensor of 0.1 that breaks a rule is not copied into parts") {
    sample file(version::v0_1);
    file.shape({2, 3}).object("layout", cbor::text("sparsecsr")).blob(u64({0, 1, 2}) + u64({0, 3}) + f32_bits({1, 2}));
    CHECK(failed_copy(file.file(), format_version::v1_2).code() == errc::sparse_index);
    CHECK(copied(file.file(), format_version::v0_1).size() > 0); // as it is stored
    sample big = file;
    big.object("data_endianness", cbor::text("big"));
    CHECK(failed_copy(big.file(), format_version::v1_2).code() == errc::needs_byteswap);
}

TEST_CASE("narrow indices of 1.1 become u64 in 1.2, and stay what they are in 1.1") {
    const std::tuple<const char*, std::size_t, bool> types[] = {{"i8", 1, true},  {"i16", 2, true}, {"i32", 4, true},
                                                                {"i64", 8, true}, {"u8", 1, false}, {"u16", 2, false},
                                                                {"u32", 4, false}};
    const auto numbers = [](const integers& values, std::size_t width) {
        bytes out;
        for (const std::uint64_t value : values) {
            out += little_endian(value, width);
        }
        return out;
    };
    for (const auto& [dtype, width, is_signed] : types) {
        for (const bool is_zstd : {false, true}) {
            CAPTURE(dtype, is_zstd);
            const auto one = [&](const char* role, const char* type, const bytes& plain) {
                const bytes stored = is_zstd ? support::zstd::frame_of(plain) : plain;
                piece out{role, type, stored, {{"digest", cbor::text(crc32c_of(stored))}}};
                if (is_zstd) {
                    out.more.set("encoding", cbor::text("zstd"));
                }
                return out;
            };
            const bytes values = f32_bits({0x40a00000, 0x40e00000});
            const bytes file = file_of_things(
                version::v1_1, {{"csr",
                                 "sparse_csr",
                                 {2, 3},
                                 {one("indices", dtype, numbers({0, 2}, width)),
                                  one("indptr", dtype, numbers({0, 1, 2}, width)), one("values", "f32", values)}},
                                {"coo",
                                 "sparse_coo",
                                 {2, 3},
                                 {one("coords", dtype, numbers({0, 1, 0, 2}, width)), one("values", "f32", values)}}});
            const reader wide = opened(copied(file, format_version::v1_2));
            CHECK(decoded_of(wide.find("csr").value().component("indices").value()) == u64({0, 2}));
            CHECK(decoded_of(wide.find("csr").value().component("indptr").value()) == u64({0, 1, 2}));
            CHECK(decoded_of(wide.find("coo").value().component("coords").value()) == u64({0, 1, 0, 2}));
            CHECK(wide.verify().value().complete());
            for (const object_view object : wide) {
                for (const component_view component : object) {
                    CHECK(component.encoding().text() == (is_zstd ? "zstd" : "raw"));
                    CHECK(component.dtype().text() == (component.role() == "values" ? "f32" : "u64"));
                }
            }
            check_verbatim(file, copied(file, format_version::v1_1));
            const reader in_0_1 = opened(copied(file, format_version::v0_1));
            CHECK(csr_view<float>::from(*in_0_1.find("csr")).value().to_dense().value() ==
                  std::vector<float>{5, 0, 0, 0, 0, 7});

            if (is_signed) {
                const bytes negative = file_of_things(
                    version::v1_1,
                    {{"m",
                      "sparse_coo",
                      {3},
                      {one("coords", dtype, numbers({~std::uint64_t{0}, 2}, width)), one("values", "f32", values)}}});
                CHECK(failed_copy(negative, format_version::v1_2).code() == errc::sparse_index);
            }
        }
    }
}

TEST_CASE("blobs whose size 1.1 does not state get it in 1.2") {
    const std::vector<thing> things = {
        {"dense",
         "dense",
         {2, 2},
         {{"data", "u8", support::zstd::frame_of("abcd"), {{"encoding", cbor::text("zstd")}}}}},
        {"csr",
         "sparse_csr",
         {1, 3},
         {{"indices", "u64", support::zstd::frame_of(u64({2})), {{"encoding", cbor::text("zstd")}}},
          {"indptr", "u64", support::zstd::frame_of(u64({0, 1})), {{"encoding", cbor::text("zstd")}}},
          {"values", "u8", support::zstd::frame_of("a"), {{"encoding", cbor::text("zstd")}}}}},
        {"own",
         "own",
         {9},
         {{"any",
           "u8",
           support::zstd::frame_of("abc") + support::zstd::frame_of("de"),
           {{"encoding", cbor::text("zstd")}}}}},
        {"unknown dtype",
         "dense",
         {9},
         {{"data", "u4", support::zstd::frame_of("abc"), {{"encoding", cbor::text("zstd")}}}}},
        {"quantized",
         "quantized_group",
         {8},
         {{"packed_weight", "i32", support::zstd::frame_of("abcd"), {{"encoding", cbor::text("zstd")}}},
          {"scales", "u8", "a"},
          {"zeros", "u8", "b"}}},
    };
    const bytes file = file_of_things(version::v1_1, things);
    const bytes copy_1_2 = copied(file, format_version::v1_2);
    const reader copy = opened(copy_1_2);
    const auto size_of = [&](const char* object, const char* role) {
        return copy.find(object).value().component(role).value().uncompressed_length();
    };
    CHECK(size_of("dense", "data") == 4);
    CHECK(size_of("csr", "indices") == 8);
    CHECK(size_of("csr", "indptr") == 16);
    CHECK(size_of("csr", "values") == 1);
    CHECK(size_of("own", "any") == 5);
    CHECK(size_of("unknown dtype", "data") == 3);
    CHECK(size_of("quantized", "packed_weight") == 4);
    CHECK(size_of("quantized", "scales") == std::nullopt);
    const reader from = opened(file);
    for (const object_view object : from) {
        for (const component_view component : object) {
            CHECK(stored_of(copy.find(object.name()).value().component(component.role()).value()) ==
                  stored_of(component));
        }
    }
    CHECK(copied(copy_1_2, format_version::v1_1) == copied(file, format_version::v1_1));
}

TEST_CASE("the types that 1.1 spells as dtypes are the same types in 1.2") {
    const std::vector<thing> in_1_1 = {
        {"a", "dense", {3}, {{"data", "f8_e4m3", "abc"}}},
        {"b", "dense", {3}, {{"data", "f8_e5m2", "abc"}}},
        {"c", "dense", {1}, {{"data", "complex64", bytes(8, 'c')}}},
        {"d",
         "dense",
         {1},
         {{"data", "complex128", support::zstd::frame_of(bytes(16, 'd')), {{"encoding", cbor::text("zstd")}}}}},
    };
    const bytes file = file_of_things(version::v1_1, in_1_1);
    const bytes copy = copied(file, format_version::v1_2);
    const std::tuple<const char*, const char*, const char*> expected[] = {
        {"a", "u8", "f8_e4m3fn"}, {"b", "u8", "f8_e5m2"}, {"c", "f32", "complex64"}, {"d", "f64", "complex128"}};
    const reader copied_file = opened(copy);
    for (const auto& [name, dtype, type] : expected) {
        const component_view data = copied_file.find(name).value().component("data").value();
        CHECK(data.dtype().original() == dtype);
        CHECK(data.type().text() == type);
    }
    const reader back = opened(copied(copy, format_version::v1_1));
    for (const thing& each : in_1_1) {
        CHECK(back.find(each.name).value().component("data")->dtype().original() == each.pieces.front().dtype);
        CHECK(stored_of(back.find(each.name).value().component("data").value()) == each.pieces.front().stored);
    }
}

// -- tied weights

namespace {

/// Three objects of one blob.
sample tied_weights() {
    cbor::map objects;
    for (const char* const name : {"a", "b", "c"}) {
        objects.set(name, sample().encoded_object());
    }
    sample tied;
    tied.objects(objects);
    return tied;
}

} // namespace

TEST_CASE("tied weights stay one blob, also beside those of another file") {
    const reader from = opened(tied_weights().file());
    writer to = to_memory(format_version::v1_2);
    copy(from, to).value();
    copy(from, to, copy_options().rename([](std::string_view name) { return "second " + std::string(name); })).value();
    const reader copy = opened(finished(to));
    const auto offset_of = [&](const char* name) { return copy.find(name).value().data().value().offset(); };
    CHECK(copy.size() == 6);
    CHECK(offset_of("a") == 64);
    CHECK(offset_of("b") == 64);
    CHECK(offset_of("c") == 64);
    CHECK(offset_of("second a") == 128); // another copy, which may be of another file
    CHECK(offset_of("second c") == 128);
}

TEST_CASE("tied weights keep their values") {
    sample tied = tied_weights();
    for (const format_version target : versions) {
        for (const bool is_anew : {false, true}) {
            const reader copy = opened(copied(tied.file(), target, copy_options().reencode(is_anew)));
            CHECK(copy.size() == 3);
            for (const object_view object : copy) {
                CHECK(object.read<float>().value() == std::vector<float>{1, 2});
            }
        }
    }
}

// -- selecting, renaming, progress

namespace {

/// Three objects whose blobs lie in another order than their names.
bytes three() {
    return file_of_things(version::v1_2, {{"c", "dense", {3}, {{"data", "u8", "ccc"}}},
                                          {"a", "dense", {1}, {{"data", "u8", "a"}}},
                                          {"b", "own", {2}, {{"one", "u8", "bb"}, {"two", "u8", "bbbb"}}}});
}

std::vector<std::string> names_in(const bytes& file) {
    const reader from = opened(file);
    std::vector<std::string> names;
    for (const object_view object : from) {
        names.emplace_back(object.name());
    }
    return names;
}

} // namespace

TEST_CASE("only what is selected is copied") {
    CHECK(names_in(copied(three(), format_version::v1_2, only("a"))) == std::vector<std::string>{"a"});
    CHECK(names_in(copied(three(), format_version::v1_2, only("nothing"))).empty());
    const auto by_format =
        copy_options().select([](const object_view& object) { return object.format().text() == "dense"; });
    CHECK(names_in(copied(three(), format_version::v0_1, by_format)) ==
          std::vector<std::string>{"c", "a"}); // as the blobs lie
}

TEST_CASE("objects are renamed, and a name that comes twice is refused") {
    const auto prefix = copy_options().rename([](std::string_view name) { return "model." + std::string(name); });
    const bytes renamed = copied(three(), format_version::v1_2, prefix);
    CHECK(names_in(renamed) == std::vector<std::string>{"model.a", "model.b", "model.c"});
    CHECK(decoded_of(renamed, "model.c") == "ccc");

    const auto same = copy_options().rename([](std::string_view) { return "x"s; });
    const reader from = opened(three());
    writer to = to_memory(format_version::v1_2);
    const result<void> done = copy(from, to, same);
    REQUIRE_FALSE(done.has_value());
    CHECK(done.error().code() == errc::duplicate_key);
    CHECK(done.error().object() == "x");
    CHECK(names_in(finished(to)) == std::vector<std::string>{"x"});

    for (const std::string& invalid : {""s, "a\0b"s, bytes(4097, 'n'), "\xff"s}) {
        const auto badly = copy_options().rename([invalid](std::string_view) { return invalid; });
        CHECK(failed_copy(three(), format_version::v1_2, badly).code() == errc::name_invalid);
    }
}

TEST_CASE("selecting is asked by the old name, also where there is a new one") {
    auto options = only("b");
    options.rename([](std::string_view name) { return std::string(name) + "2"; });
    CHECK(names_in(copied(three(), format_version::v1_2, options)) == std::vector<std::string>{"b2"});
}

TEST_CASE("progress tells of each object, in the order of the blobs, and of the stored bytes") {
    std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> told;
    const auto tell = copy_options().progress([&](const copy_progress& progress) {
        told.emplace_back(progress.object, progress.done_bytes, progress.total_bytes);
        return true;
    });
    copied(three(), format_version::v1_2, tell);
    CHECK(told == std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>{
                      {"c", 3, 10}, {"a", 4, 10}, {"b", 10, 10}});
    told.clear();
    copied(three(), format_version::v1_2,
           copy_options(tell).select([](const object_view& object) { return object.name() != "c"; }));
    CHECK(told == std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>{{"a", 1, 7}, {"b", 7, 7}});
    told.clear();
    copied(file_of_things(version::v1_2, {}), format_version::v1_2, tell);
    CHECK(told.empty());
}

TEST_CASE("a copy that is cancelled says so, and what was copied is there") {
    for (const std::size_t after : {1U, 2U, 3U}) {
        std::size_t calls = 0;
        const reader from = opened(three());
        writer to = to_memory(format_version::v1_2);
        const result<void> done =
            copy(from, to, copy_options().progress([&](const copy_progress&) { return ++calls < after; }));
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().code() == errc::cancelled);
        CHECK(calls == after);
        CHECK(names_in(finished(to)).size() == after);
    }
}

TEST_CASE("objects of several files are copied into one") {
    writer to = to_memory(format_version::v1_2);
    to.add("own", {1}, std::vector<std::uint8_t>{7}).value();
    copy(opened(three()), to, copy_options().rename([](std::string_view name) {
        return "1." + std::string(name);
    })).value();
    copy(opened(three()), to, copy_options().rename([](std::string_view name) {
        return "2." + std::string(name);
    })).value();
    const bytes merged = finished(to);
    CHECK(names_in(merged) == std::vector<std::string>{"1.a", "1.b", "1.c", "2.a", "2.b", "2.c", "own"});
    CHECK(decoded_of(merged, "2.b", "two") == "bbbb");
}

TEST_CASE("a copy into a writer that has finished is refused") {
    writer to = to_memory(format_version::v1_2);
    to.finish().value();
    CHECK(refusal(copy(opened(three()), to)) == errc::writer_closed);
}

TEST_CASE("blobs keep their order, and empty ones come before what they lie at the start of") {
    const std::vector<thing> things = {{"z", "dense", {0}, {{"data", "u8", ""}}},
                                       {"m", "own", {1}, {{"y", "u8", "yy"}, {"x", "u8", ""}, {"w", "u8", "ww"}}},
                                       {"a", "dense", {2}, {{"data", "u8", "ab"}}}};
    const bytes file = copied(file_of_things(version::v1_2, things), format_version::v1_2);
    CHECK(copied(file, format_version::v1_2) == file);
    CHECK(copied(file, format_version::v1_2, copy_options().reencode()) == file);
    const reader copy = opened(file);
    CHECK(copy.find("m").value().component("y")->offset() < copy.find("m").value().component("w")->offset());
    CHECK(copy.find("m").value().component("w")->offset() < copy.find("a").value().component("data")->offset());
}

TEST_CASE("1.0 is copied into every version") {
    const std::vector<thing> things = {
        {"dense", "dense", {2}, {{"data", "float32", f32_bits({1, 2})}}},
        {"zstd",
         "dense",
         {2},
         {{"data", "int64", support::zstd::frame_of(u64({1, 2})), {{"encoding", cbor::text("zstd")}}}}},
        {"csr",
         "sparse_csr",
         {2, 3},
         {{"values", "float32", f32_bits({0x40a00000, 0x40e00000})},
          {"indices", "", u64({0, 2})},
          {"indptr", "", u64({0, 1, 2})}}},
    };
    const bytes file = file_of_things(version::v1_0, things);
    for (const format_version target : versions) {
        CAPTURE(name_of(target));
        const reader copy = opened(copied(file, target));
        CHECK(copy.size() == 3);
        CHECK(decoded_of(copy.find("dense").value().component("data").value()) == f32_bits({1, 2}));
        CHECK(copy.read<std::int64_t>("zstd").value() == std::vector<std::int64_t>{1, 2});
        CHECK(csr_view<float>::from(*copy.find("csr")).value().to_dense().value() ==
              std::vector<float>{5, 0, 0, 0, 0, 7});
    }
}
