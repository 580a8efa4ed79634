// SPDX-License-Identifier: MIT
//
// What a writer of version 2 is told beside elements: attributes of every kind of object, parameters of quantized
// weights, options.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/attributes.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace version_2_words {

using support::refusal;
using ztensor::attributes;
using ztensor::errc;
using ztensor::format_version;
using ztensor::reader;
using ztensor::result;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

const std::vector<float> two = {5, 7}, one = {1};
const std::vector<std::uint64_t> columns = {0, 2}, pointers = {0, 1, 2}, coords = {0, 1, 0, 2};
const std::vector<std::uint32_t> words = {0x76543210};

using add_call = std::function<result<void>(writer&, const attributes&)>;

const std::vector<std::pair<const char*, add_call>> all_calls = {
    {"dense", [](writer& to, const attributes& about) { return to.add("w", {2}, two, {}, about); }},
    {"bytes",
     [](writer& to, const attributes& about) {
         return to.add_bytes("w", {2}, ztensor::dtype::u8, support::bytes_of("ab"), {}, about);
     }},
    {"csr",
     [](writer& to, const attributes& about) {
         return to.add_csr("w", {2, 3}, two, columns, pointers, {}, about);
     }},
    {"coo",
     [](writer& to, const attributes& about) {
         return to.add_coo("w", {2, 3}, two, coords, {}, about);
     }},
    {"quantized",
     [](writer& to, const attributes& about) {
         return to.add_quantized("w", {1, 8}, {4, 8, "8_per_u32"}, words, one, one, {}, about);
     }},
    {"stream",
     [](writer& to, const attributes& about) {
         auto stream = to.stream<float>("w", {2}, {}, about);
         if (!stream) {
             return support::done(stream);
         }
         return stream->append(two).and_then([&] { return stream->finish(); });
     }},
};

writer to_memory_2() {
    return support::to_memory(format_version::v2);
}

} // namespace version_2_words

} // namespace

TEST_CASE("version 2 keeps the attributes that any call gives, in one form, and no empty ones") {
    using namespace version_2_words;
    attributes some;
    REQUIRE(some.set_cbor("k", support::from_hex("1b0000000000000001")));
    for (const auto& each : all_calls) {
        CAPTURE(each.first);
        const auto fill = [&](const attributes& about) { return [&](writer& to) { REQUIRE(each.second(to, about)); }; };
        const reader with = support::reopened(write_options().version(format_version::v2), fill(some));
        CHECK(support::to_hex(with.find("w").value().attributes().cbor("k").value()) == "01");
        const reader without = support::reopened(write_options().version(format_version::v2), fill({}));
        CHECK_FALSE(without.find("w").value().attributes().contains("k"));
        CHECK(with.verify());
    }
}

TEST_CASE("version 2 refuses attributes that it has no form for, whatever call gives them") {
    using namespace version_2_words;
    attributes tagged;
    REQUIRE(tagged.set_cbor("k", support::from_hex("c101")));
    for (const auto& [what, add] : all_calls) {
        CAPTURE(what);
        writer to = to_memory_2();
        const result<void> answer = add(to, tagged);
        REQUIRE(refusal(answer) == errc::not_expressible);
        CHECK(answer.error().object() == "w");
        CHECK(add(to, {}));
        CHECK(to.finish());
    }
}

TEST_CASE("quantized weights of version 2 fill their words, whatever those are") {
    using namespace version_2_words;
    const auto added = [](const ztensor::shape& dimensions, const ztensor::quantization& parameters,
                          const auto& packed) {
        writer to = to_memory_2();
        result<void> answer = to.add_quantized("w", dimensions, parameters, packed, one, one);
        if (answer) {
            REQUIRE(to.finish());
            const support::byte_vector file = to.take_bytes();
            const reader back = reader::from_bytes(ztensor::bytes_view(file)).value();
            const auto view = ztensor::quantized_view::from(back.find("w").value());
            REQUIRE(view);
            CHECK(view->unpack().value().size() == 8);
        }
        return support::outcome(answer);
    };
    const std::vector<std::uint8_t> bytes(4);
    const std::vector<std::uint16_t> shorts(2);
    const std::vector<std::int16_t> signed_shorts(2);
    const std::vector<std::uint64_t> longs(1);
    const std::vector<std::uint8_t> eight(8);
    CHECK(added({1, 8}, {4, 8, "2_per_u8"}, bytes) == "ok");
    CHECK(added({1, 8}, {8, 8, "1_per_u8"}, eight) == "ok");
    CHECK(added({1, 8}, {4, 8, "4_per_u16"}, shorts) == "ok");
    CHECK(added({1, 8}, {4, 8, "4_per_i16"}, signed_shorts) == "ok");
    CHECK(added({1, 8}, {8, 8, "8_per_u64"}, longs) == "ok");
    CHECK(added({1, 8}, {7, 8, "4_per_u32"}, words) == "not_expressible");
    CHECK(added({1, 8}, {16, 8, "2_per_u32"}, std::vector<std::uint32_t>(4)) == "not_expressible");
    CHECK(added({1, 8}, {3, 8, "8_per_u32"}, words) == "not_expressible");
    CHECK(added({}, {4, 1, "8_per_u32"}, words) == "not_expressible");
}

TEST_CASE("shards are refused in memory, and so are digests of them that version 2 does not have") {
    using namespace version_2_words;
    const auto of_shards = write_options().version(format_version::v2).shard_bytes(1);
    CHECK(refusal(writer::to_memory(of_shards)) == errc::invalid_argument);
    const support::temp_dir folder;
    for (const ztensor::digest algorithm : {ztensor::digest::crc32c, ztensor::digest::none}) {
        const auto options = write_options().version(format_version::v2).shard_bytes(1, algorithm);
        CHECK(refusal(writer::create(folder / "m.zt", options)) == errc::invalid_argument);
    }
    writer to = writer::create(folder / "m.zt", write_options().version(format_version::v2)).value();
    REQUIRE(to.add("w", {2}, two));
    REQUIRE(to.finish());
    CHECK(refusal(writer::append(folder / "m.zt", write_options().version(format_version::v2).shard_bytes(1))) ==
          errc::invalid_argument);
    const auto shards = write_options().version(format_version::v2).shard_bytes(1);
    CHECK(refusal(writer::create(".zt", shards)) == errc::invalid_argument);
    CHECK(refusal(writer::create(folder / "zt", shards)) == errc::invalid_argument);
    CHECK(folder.names() == std::vector<std::string>{"m.zt"});
}

TEST_CASE("a layout of version 2 is called by a vendor, a name and a number") {
    using namespace version_2_words;
    const auto answer = [](const char* layout) {
        writer to = to_memory_2();
        return support::outcome(to.add_object("w", ztensor::object_draft(layout, {2}).component("data", two)));
    };
    CHECK(answer("dense") == "ok");
    CHECK(answer("vendor.layout/1") == "ok");
    CHECK(answer("v.l/12") == "ok");
    for (const char* const layout : {"", "vendor", "vendor/1", ".layout/1", "vendor./1", "vendor.layout/",
                                     "vendor.layout", "vendor.layout/1x", "vendor.layout/x", "vendor/layout.1"}) {
        CAPTURE(layout);
        CHECK(answer(layout) == "not_expressible");
    }
}

TEST_CASE("a stream that is over takes and says nothing more") {
    using namespace version_2_words;
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        writer to = support::to_memory(version);
        auto first = to.stream<float>("a", {2}).value();
        REQUIRE(first.append(two));
        REQUIRE(first.finish());
        CHECK(refusal(first.append(two)) == errc::writer_closed);
        CHECK(refusal(first.attributes({})) == errc::writer_closed);
        CHECK(refusal(first.finish()) == errc::writer_closed);
        CHECK(first.missing_bytes() == 0);
        auto bools = to.stream("b", {2}, ztensor::dtype::boolean).value();
        CHECK(refusal(bools.append_bytes(support::bytes_of("\2\1"))) == errc::bad_bool);
        REQUIRE(bools.append({true, false}));
        REQUIRE(bools.finish());
        CHECK(to.finish());
        CHECK(refusal(bools.finish()) == errc::writer_closed);
    }
}

TEST_CASE("what is in the file already is found there again, also where it left memory long ago") {
    using namespace version_2_words;
    const support::temp_dir folder;
    std::vector<std::uint32_t> many(3 << 18);
    for (std::size_t i = 0; i < many.size(); ++i) {
        many[i] = static_cast<std::uint32_t>(i * 2654435761U);
    }
    for (const bool direct : {false, true}) {
        for (const store& how : {store(), store().zstd(1), store().digest(ztensor::digest::sha256),
                                 store().zstd(1).digest(ztensor::digest::sha256)}) {
            const auto options = write_options().version(format_version::v2).sync(false).direct(direct).threads(1);
            writer to = writer::create(folder / "m.zt", options).value();
            const ztensor::shape dimensions = {many.size()};
            REQUIRE(to.add("a", dimensions, many, how));
            REQUIRE(to.add("b", dimensions, many, how));
            ++many[0];
            REQUIRE(to.add("c", dimensions, many, how));
            --many[0];
            REQUIRE(to.add("d", dimensions, many, how));
            REQUIRE(to.finish());
            const reader back = reader::open(folder / "m.zt").value();
            const auto place = [&](const char* name) { return back.find(name).value().data().value().offset(); };
            const bool is_shared = how.encoding() == ztensor::encoding::raw; // else it would have to be decoded
            CHECK((place("a") == place("b")) == is_shared);
            CHECK((place("a") == place("d")) == is_shared);
            CHECK(place("a") != place("c"));
            CHECK(back.read<std::uint32_t>("d").value() == many);
            CHECK(back.verify());
        }
    }
}

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED) && ZTENSOR_HAS_EXCEPTIONS

TEST_CASE("wherever memory runs out while version 2 is written, the writer says so, and there is no such file") {
    using namespace version_2_words;
    const support::temp_dir folder;
    attributes some;
    some.set("k", "a text that is long enough to take memory");
    const std::filesystem::path path = folder / "m.zt";
    for (const std::uint64_t shard_bytes : {0U, 1U}) {
        for (const auto& each : all_calls) {
            CAPTURE(each.first, shard_bytes);
            const auto write = [&]() -> result<void> {
                const auto options = write_options().version(format_version::v2).sync(false).threads(1);
                result<writer> to =
                    writer::create(path, shard_bytes == 0 ? options : write_options(options).shard_bytes(1));
                return to ? each.second(*to, some).and_then([&] { return to->finish(); }) : support::done(to);
            };
            for (std::size_t failing = 1;; ++failing) {
                support::allocations_before_failure = failing;
                const result<void> answer = write();
                support::allocations_before_failure = 0;
                if (support::failed_allocations.exchange(0) == 0) {
                    REQUIRE(answer);
                    break;
                }
                REQUIRE((answer || answer.error().code() == errc::out_of_memory));
                REQUIRE(std::filesystem::exists(path) == answer.has_value());
                // Complete shards come before their root, and may be all that came.
                REQUIRE((answer || shard_bytes != 0 || folder.names().empty()));
                for (const std::string& name : folder.names()) {
                    std::filesystem::remove(folder / name);
                }
            }
            for (const std::string& name : folder.names()) {
                std::filesystem::remove(folder / name);
            }
        }
    }
}

#endif
