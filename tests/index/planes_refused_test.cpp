// SPDX-License-Identifier: MIT
//
// Objects that say they are planes and break a rule of that layout, and planes whose blobs are damaged or lie: files
// that open, whose tensors are told to be wrong, and why, in every way that they are asked for.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/plane_content.hpp"
#include "support/refusal.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"
#include "support/zstd_frames.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/float_types.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace planes_refused {

using support::bytes;
using support::refusal;
using support::sample;
using ztensor::attributes;
using ztensor::bfloat16;
using ztensor::dtype;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::object_view;
using ztensor::reader;
using ztensor::store;
using ztensor::version;
using ztensor::write_options;
using ztensor::writer;
namespace cbor = support::cbor;
namespace planes = support::planes;
namespace zstd = support::zstd;

constexpr std::string_view word = "ztensor-cpp.planes/1";
constexpr format_version versions[] = {format_version::v1_1, format_version::v1_2, format_version::v2};

/// An object as a writer is told of it.
struct said {
    std::vector<std::uint64_t> dimensions = {2, 3};
    std::string exponent_role = "exponent";
    std::string fraction_role = "fraction";
    dtype exponent_type = dtype::u8;
    dtype fraction_type = dtype::u8;
    std::size_t exponent_bytes = 6;
    std::size_t fraction_bytes = 6;
    store exponents = store();
    store fractions = store();
    attributes about = planes::attributes_of("bf16");
    bool has_attributes = true;
    std::string third = {};
};

/// Components whose role is empty are left out.
reader file_as(format_version version, const said& what) {
    return support::reopened(write_options().version(version), [&](writer& out) {
        const support::byte_vector content = support::noise(64);
        object_draft draft(word, ztensor::shape(what.dimensions));
        const auto add = [&](const std::string& role, dtype type, std::size_t size, const store& how) {
            if (!role.empty()) {
                draft.component_bytes(role, type, ztensor::bytes_view(content).first(size), how);
            }
        };
        add(what.exponent_role, what.exponent_type, what.exponent_bytes, what.exponents);
        add(what.fraction_role, what.fraction_type, what.fraction_bytes, what.fractions);
        add(what.third, dtype::u8, 6, store());
        if (what.has_attributes) {
            draft.attributes(what.about);
        }
        out.add("a", {1}, std::vector<float>{1}).value();
        out.add_object("w", draft).value();
        out.add_bytes("z", {6}, dtype::u8, ztensor::bytes_view(content).first(6)).value();
    });
}

said with(const std::function<void(said&)>& change) {
    said made;
    change(made);
    return made;
}

attributes about(const std::function<void(attributes&)>& fill) {
    attributes made;
    fill(made);
    return made;
}

/// The object is one of an unknown format, whose components can be read, and each verb says the same of its elements.
void check_unknown(const reader& file, errc code) {
    const object_view object = file["w"];
    CHECK_FALSE(object.format().is_known());
    CHECK(object.format().text() == word);
    CHECK_FALSE(object.dtype().is_present());
    CHECK(refusal(object.data()) == code);
    CHECK(refusal(object.read<bfloat16>()) == code);
    CHECK(refusal(object.view<bfloat16>()) == code);
    CHECK(refusal(object.rows(0, 1).read<bfloat16>()) == (object.shape().rank() == 0 ? errc::out_of_bounds : code));
    std::vector<bfloat16> memory(6);
    CHECK(refusal(object.read_into(memory)) == code);
    CHECK(refusal(ztensor::load_plan(file).add("w", memory).run()) == code);
    CHECK_FALSE(object.read_as<float>().has_value());
    CHECK_FALSE(ztensor::component_pieces::open_as(object, dtype::f32).has_value());
    CHECK(refusal(object.component("data")) == errc::component_not_found);
    for (const ztensor::component_view component : object) {
        CHECK(support::outcome(component.read<std::byte>()) == "ok");
        CHECK(support::outcome(component.verify()) == "ok");
    }
    CHECK(file.read<float>("a").value() == std::vector<float>{1});
    CHECK(ztensor::read_all(file).value().size() == 2);
    CHECK(file.verify().value().ok());
}

// Files of 1.2, byte by byte.

struct plane_blob {
    bytes blob;
    std::string encoding = {}; ///< "": raw
    std::string digest = {};
    bool states_size = true;
    std::uint64_t decoded_bytes = 0;
};

struct parts {
    std::vector<std::uint64_t> dimensions;
    plane_blob exponents;
    plane_blob fractions;
};

support::part described(const char* role, const plane_blob& from, std::uint64_t offset) {
    support::part made{role, "u8", offset, from.blob.size()};
    if (!from.encoding.empty()) {
        made.more.set("encoding", cbor::text(from.encoding));
    }
    if (!from.digest.empty()) {
        made.more.set("digest", cbor::text(from.digest));
    }
    if (!from.encoding.empty() && from.states_size) {
        made.more.set("uncompressed_length", cbor::number(from.decoded_bytes));
    }
    return made;
}

bytes built(const parts& from, version generation = version::v1_2) {
    const std::uint64_t second = 64 + (from.exponents.blob.size() + 63) / 64 * 64;
    sample file(generation);
    file.parts(word, from.dimensions,
               {described("exponent", from.exponents, 64), described("fraction", from.fractions, second)});
    file.object("attributes",
                cbor::map{{"planes.dtype", cbor::text("bf16")}, {"planes.exponent_bits", cbor::number(8)}});
    return file.blobs({from.exponents.blob, from.fractions.blob}).file();
}

constexpr std::size_t kib = 1024;

/// A frame of raw blocks that states this size of its content.
bytes stating(std::uint64_t size, const bytes& content) {
    bytes blocks;
    for (std::size_t at = 0; at == 0 || at < content.size(); at += 100 * kib) {
        blocks += zstd::raw_block(content.substr(at, 100 * kib), at + 100 * kib >= content.size());
    }
    return zstd::magic + "\xe0" + support::little_endian(size, 8) + blocks;
}
bytes frames_of(const bytes& content, std::size_t each) {
    bytes made;
    for (std::size_t at = 0; at < content.size(); at += each) {
        const bytes piece = content.substr(at, each);
        made += stating(piece.size(), piece);
    }
    return made;
}

struct planes_file {
    bytes elements;
    planes::split split;
    parts content; ///< exponents in frames of 64 KiB, fractions raw
};

planes_file some_planes(std::size_t count) {
    planes_file made;
    made.elements = planes::weights(dtype::bf16, count);
    made.split = planes::split_of(made.elements, 2);
    made.content.dimensions = {count};
    made.content.exponents = {frames_of(made.split.exponents, 64 * kib), "zstd", "", true, count};
    made.content.fractions = {made.split.fractions};
    return made;
}

/// "ok", or the code of what is wrong and the component that has it.
template <class Asked>
std::string told(const Asked& asked) {
    return asked ? "ok" : support::outcome(asked) + " of " + std::string(asked.error().component());
}

/// What came of each way to ask for all elements.
std::vector<std::string> all_ways(const reader& file, unsigned threads) {
    const object_view object = file["w"];
    std::vector<std::string> made;
    made.push_back(told(object.read<bfloat16>()));
    made.push_back(told(object.load<bfloat16>()));
    made.push_back(told(object.read_as<float>()));
    made.push_back(told(object.read_as<double>()));
    made.push_back(told(object.data()->read<std::byte>()));
    std::vector<bfloat16> memory(static_cast<std::size_t>(object.element_count()));
    std::vector<float> numbers(memory.size());
    made.push_back(told(object.read_into(memory)));
    const auto options = ztensor::load_options().threads(threads);
    made.push_back(told(ztensor::load_plan(file).add("w", memory).run(options)));
    made.push_back(told(ztensor::load_plan(file).add_as("w", numbers).run(options)));
    for (const bool converts : {false, true}) {
        auto pieces = converts ? ztensor::component_pieces::open_as(object, dtype::f32)
                               : ztensor::component_pieces::open(object.data().value());
        if (!pieces) {
            made.push_back(told(pieces));
            continue;
        }
        auto next = pieces->next();
        while (next && !next->empty()) {
            next = pieces->next();
        }
        made.push_back(told(next));
    }
    return made;
}

/// Every way ends with this, from memory and from a source that is read, on one thread and on two.
void check_ways(const bytes& content, const std::string& expected) {
    for (const unsigned threads : {1U, 2U}) {
        const auto options = ztensor::read_options().threads(threads);
        const reader in_memory = support::opened(content, options);
        const support::watched seen = support::watch(content, false, options);
        for (const reader* const file : {&in_memory, static_cast<const reader*>(&seen.file)}) {
            CAPTURE(threads, file == &in_memory);
            CHECK((*file)["w"].format() == ztensor::format::dense);
            const std::vector<std::string> found = all_ways(*file, threads);
            CHECK(found == std::vector<std::string>(found.size(), expected));
        }
    }
}

void check_elements(const bytes& content, const bytes& elements) {
    check_ways(content, "ok");
    const reader file = support::opened(content);
    CHECK((support::as_string(file["w"].data()->read_little_endian().value()) == elements));
    const std::uint64_t count = file["w"].element_count();
    const auto part = file["w"].data()->part(count / 3, count / 2, count).read<std::byte>().value();
    CHECK((support::as_string(part) == elements.substr(static_cast<std::size_t>(count / 3 * 2),
                                                       static_cast<std::size_t>(count / 2 - count / 3) * 2)));
}

} // namespace planes_refused

} // namespace

TEST_CASE("what breaks a rule of the layout of planes stays an object of an unknown format, and says which rule") {
    using namespace planes_refused;
    struct row {
        const char* name;
        said what;
        errc code;
    };
    const auto at = [](const std::function<void(attributes&)>& fill) {
        return with([&](said& s) { s.about = about(fill); });
    };
    const row rows[] = {
        {"a third component", with([](said& s) { s.third = "more"; }), errc::layout_components},
        {"no exponents", with([](said& s) { s.exponent_role = ""; }), errc::layout_components},
        {"no fractions", with([](said& s) { s.fraction_role = ""; }), errc::layout_components},
        {"a role of another name", with([](said& s) { s.exponent_role = "exponents"; }), errc::layout_components},
        {"exponents of another type", with([](said& s) { s.exponent_type = dtype::i8; }), errc::type_mismatch},
        {"fractions of another type", with([](said& s) { s.fraction_type = dtype::u16; }), errc::type_mismatch},
        {"exponents of a logical type", with([](said& s) { s.exponents.type("f8_e4m3fn"); }), errc::type_mismatch},
        {"too few exponents", with([](said& s) { s.exponent_bytes = 5; }), errc::size_mismatch},
        {"too many exponents", with([](said& s) { s.exponent_bytes = 7; }), errc::size_mismatch},
        {"too few fractions", with([](said& s) { s.fraction_bytes = 5; }), errc::size_mismatch},
        {"too many fractions", with([](said& s) { s.fraction_bytes = 18; }), errc::size_mismatch},
        {"no fractions at all", with([](said& s) { s.fraction_bytes = 0; }), errc::size_mismatch},
        {"another shape", with([](said& s) {
             s.dimensions = {2, 4};
         }),
         errc::size_mismatch},
        {"a scalar", with([](said& s) { s.dimensions = {}; }), errc::size_mismatch},
        {"fractions of f32", with([](said& s) { s.about = planes::attributes_of("f32"); }), errc::size_mismatch},
        {"no attributes", with([](said& s) { s.has_attributes = false; }), errc::attribute_not_found},
        {"no type of the elements", at([](attributes& a) { a.set("planes.exponent_bits", std::uint64_t{8}); }),
         errc::attribute_not_found},
        {"no bits", at([](attributes& a) { a.set("planes.dtype", "bf16"); }), errc::attribute_not_found},
        {"a type that is a number", at([](attributes& a) {
             a.set("planes.dtype", std::uint64_t{1});
             a.set("planes.exponent_bits", std::uint64_t{8});
         }),
         errc::attribute_type},
        {"bits that are text", at([](attributes& a) {
             a.set("planes.dtype", "bf16");
             a.set("planes.exponent_bits", "8");
         }),
         errc::attribute_type},
        {"bits below zero", at([](attributes& a) {
             a.set("planes.dtype", "bf16");
             a.set("planes.exponent_bits", std::int64_t{-8});
         }),
         errc::attribute_type},
        {"another number of bits", with([](said& s) { s.about = planes::attributes_of("bf16", 7); }),
         errc::unsupported_type},
        {"a type without planes", with([](said& s) { s.about = planes::attributes_of("f64"); }),
         errc::unsupported_type},
        {"integers of as many bytes", with([](said& s) { s.about = planes::attributes_of("u16"); }),
         errc::unsupported_type},
        {"a type of a long name", with([](said& s) { s.about = planes::attributes_of("bfloat16"); }),
         errc::unsupported_type},
        {"a type of no name", with([](said& s) { s.about = planes::attributes_of(""); }), errc::unsupported_type},
    };
    for (const row& each : rows) {
        for (const format_version version : versions) {
            CAPTURE(each.name, static_cast<int>(version));
            check_unknown(file_as(version, each.what), each.code);
        }
    }
    for (const format_version version : versions) {
        const reader short_one = file_as(version, with([](said& s) {
                                             s.exponent_bytes = 5;
                                             s.exponents.zstd();
                                         }));
        const bool states_size = version != format_version::v1_1;
        CHECK(refusal(short_one.read<bfloat16>("w")) == (states_size ? errc::size_mismatch : errc::decode_size));
        CHECK(short_one["w"].format().is_known() != states_size);
        const reader good = file_as(version, said());
        CHECK(good["w"].format() == ztensor::format::dense);
        CHECK(support::outcome(good.read<bfloat16>("w")) == "ok");
    }
}

TEST_CASE("a shape whose elements take more than any file is refused, when the file is opened or when it is read") {
    using namespace planes_refused;
    for (const std::vector<std::uint64_t>& dimensions :
         {std::vector<std::uint64_t>{std::uint64_t{1} << 63, 4}, std::vector<std::uint64_t>{std::uint64_t{1} << 63},
          std::vector<std::uint64_t>{~std::uint64_t{0}}, std::vector<std::uint64_t>{std::uint64_t{1} << 40}}) {
        parts content = some_planes(6).content;
        content.dimensions = dimensions;
        const auto file = support::open_bytes(built(content));
        if (!file) {
            CHECK(refusal(file) == errc::shape_overflow);
            continue;
        }
        const errc code = dimensions[0] >> 62 == 0 ? errc::size_mismatch : errc::shape_overflow;
        CHECK(refusal((*file)["w"].data()) == code);
        CHECK(refusal(file->read<bfloat16>("w")) == code);
        CHECK_FALSE((*file)["w"].format().is_known());
    }
}

TEST_CASE("planes are read however their blobs are compressed, and into whatever frames") {
    using namespace planes_refused;
    for (const std::size_t count : {std::size_t{100}, std::size_t{700} * kib + 7}) {
        const planes_file good = some_planes(count);
        const bytes &exponents = good.split.exponents, &fractions = good.split.fractions;
        const plane_blob ways_of_exponents[] = {
            good.content.exponents,
            {exponents},
            {stating(count, exponents), "zstd", "", true, count},
            {frames_of(exponents, count / 40 + 1), "zstd", "", true, count},
            {frames_of(exponents.substr(0, 50), 1) + frames_of(exponents.substr(50), 100 * kib), "zstd", "", true,
             count},
            {zstd::frame(stating(0, exponents).substr(zstd::magic.size() + 9), 20), "zstd", "", true, count},
            {stating(0, "") + zstd::skippable_frame("nothing") + good.content.exponents.blob + stating(0, ""), "zstd",
             "", true, count},
        };
        const plane_blob ways_of_fractions[] = {good.content.fractions,
                                                {frames_of(fractions, 64 * kib), "zstd", "", true, count}};
        for (const plane_blob& first : ways_of_exponents) {
            for (const plane_blob& second : ways_of_fractions) {
                CAPTURE(count, &first - ways_of_exponents, &second - ways_of_fractions);
                parts content = good.content;
                content.exponents = first;
                content.fractions = second;
                check_elements(built(content), good.elements);
            }
        }
        parts silent = good.content;
        silent.exponents.states_size = false;
        check_elements(built(silent, version::v1_1), good.elements);
        silent.fractions = ways_of_fractions[1];
        silent.fractions.states_size = false;
        check_elements(built(silent, version::v1_1), good.elements);
    }
}

TEST_CASE("damaged blobs of planes are told in every way, of many frames and of few") {
    using namespace planes_refused;
    for (const std::size_t count : {std::size_t{100}, std::size_t{700} * kib + 7}) {
        const planes_file good = some_planes(count);
        const bytes &exponents = good.split.exponents, &fractions = good.split.fractions;
        const auto file_of_exponents = [&](const bytes& blob) {
            parts content = good.content;
            content.exponents.blob = blob;
            return built(content);
        };
        const auto file_of_fractions = [&](const bytes& blob) {
            parts content = good.content;
            content.fractions = {blob, "zstd", "", true, count};
            return built(content);
        };
        const bytes frames = good.content.exponents.blob;
        const bytes bad_frame = stating(3, "ab") + frames;
        struct row {
            const char* name;
            bytes blob;
            const char* code;
        };
        const bytes cut = exponents.substr(0, count - 1);
        const row rows[] = {
            {"cut in a frame", frames.substr(0, frames.size() - 3), "decode_failed"},
            {"no frame", bytes(frames.size(), '\x55'), "decode_failed"},
            {"an element too few", frames_of(cut, 64 * kib), "decode_size"},
            {"an element too many", frames_of(exponents + "x", 64 * kib), "decode_size"},
            {"a frame too many", frames + stating(20, bytes(20, 'x')), "decode_size"},
            {"bytes behind the frames", frames + "xxxxxxxxxx", "decode_failed"},
        };
        for (const row& each : rows) {
            CAPTURE(each.name, count);
            check_ways(file_of_exponents(each.blob), each.code + std::string(" of exponent"));
        }
        CAPTURE(count);
        check_ways(file_of_fractions(frames_of(fractions.substr(0, count - 1), 64 * kib)), "decode_size of fraction");
        check_ways(file_of_fractions(frames_of(fractions, 64 * kib) + "xxxxxxxxxxxxxx"), "decode_failed of fraction");
        const reader lying = support::opened(file_of_exponents(bad_frame));
        const std::vector<std::string> found = all_ways(lying, 2);
        for (const std::string& each : found) {
            CHECK((each == "decode_failed of exponent" || each == "decode_size of exponent"));
        }
    }
}

TEST_CASE("a plane that can't be decoded says nothing of the other one, of which only a plane_blob was read") {
    using namespace planes_refused;
    const std::size_t count = 700 * kib;
    const planes_file good = some_planes(count);
    const bytes file =
        support::as_string(support::written(write_options().version(format_version::v2), [&](writer& out) {
            out.add_object("w", object_draft(word, {count})
                                    .component_bytes("exponent", dtype::u8, support::bytes_of(good.split.exponents),
                                                     store().zstd().digest(ztensor::digest::sha256))
                                    .component_bytes("fraction", dtype::u8, support::bytes_of(good.split.exponents),
                                                     store().zstd().digest(ztensor::digest::sha256))
                                    .attributes(planes::attributes_of("bf16")))
                .value();
        }));
    for (const char* const damaged : {"exponent", "fraction"}) {
        bytes content = file;
        const reader intact = support::opened(file);
        content[static_cast<std::size_t>(intact["w"][damaged].offset() + 1000)] ^= 0x55;
        const reader bad = support::opened(content);
        auto pieces = ztensor::component_pieces::open(bad["w"].data().value()).value();
        auto next = pieces.next();
        while (next && !next->empty()) {
            next = pieces.next();
        }
        REQUIRE_FALSE(next.has_value());
        CHECK(next.error().code() == errc::decode_failed);
        CHECK(next.error().component() == damaged);
        CHECK(refusal(bad.read<bfloat16>("w")) == errc::decode_failed);
    }
}

TEST_CASE("digests that lie about a plane, and encodings that nobody knows, are told with the component") {
    using namespace planes_refused;
    for (const std::size_t count : {std::size_t{100}, std::size_t{700} * kib + 7}) {
        const planes_file good = some_planes(count);
        for (const bool is_fraction : {false, true}) {
            parts content = good.content;
            plane_blob& one = is_fraction ? content.fractions : content.exponents;
            CAPTURE(count, is_fraction);
            const std::string role = is_fraction ? "fraction" : "exponent";
            one.digest = "crc32c:0x00000000";
            check_ways(built(content), "digest_mismatch of " + role);
            const reader lying = support::opened(built(content));
            const auto trusting = ztensor::read_options().verify_digests(false);
            CHECK(support::outcome(support::opened(built(content), trusting).read<bfloat16>("w")) == "ok");
            if (is_fraction) { // of which only a plane_blob is read
                CHECK(support::outcome(lying["w"].data()->part(0, 1, count).read<bfloat16>()) == "ok");
            }
            one.digest = "";
            one.encoding = "zstd2";
            one.decoded_bytes = count;
            check_ways(built(content), "unsupported_encoding of " + role);
            one.blob = "x"; // whatever that may be by an encoding that nobody knows
            one.states_size = false;
            check_ways(built(content, version::v1_1), "unsupported_encoding of " + role);
        }
    }
}

TEST_CASE("planes that share a blob are planes, and those that overlap are refused as other components are") {
    using namespace planes_refused;
    const bytes blob = support::as_string(support::noise(100));
    const auto file_at = [&](std::uint64_t fraction_offset) {
        sample file;
        file.parts(word, {100}, {{"exponent", "u8", 64, 100}, {"fraction", "u8", fraction_offset, 100}});
        file.object("attributes",
                    cbor::map{{"planes.dtype", cbor::text("bf16")}, {"planes.exponent_bits", cbor::number(8)}});
        return file.blobs({blob, blob}).file();
    };
    const reader shared = support::opened(file_at(64));
    const bytes made = support::as_string(shared["w"].data()->read_little_endian().value());
    CHECK(planes::split_of(made, 2).exponents == blob);
    CHECK(planes::split_of(made, 2).fractions == blob);
    CHECK(refusal(support::open_bytes(file_at(128))) == errc::blob_overlap);
    CHECK(refusal(support::open_bytes(file_at(1 << 20))) == errc::out_of_bounds);
}

TEST_CASE("planes keep to what a call may decode, and make no memory of what a file only claims") {
    using namespace planes_refused;
    const planes_file good = some_planes(10000);
    const reader file = support::opened(built(good.content), ztensor::read_options().max_decoded_bytes(19999));
    CHECK(refusal(file.read<bfloat16>("w")) == errc::limit_exceeded);
    CHECK(refusal(file.read_as<float>("w")) == errc::limit_exceeded);
    CHECK(support::outcome(file["w"].rows(0, 100).read<bfloat16>()) == "ok");
    const std::uint64_t claimed = std::uint64_t{1} << 32;
    parts content;
    content.dimensions = {claimed};
    content.exponents = {stating(claimed, "abc"), "zstd", "", true, claimed};
    content.fractions = {stating(claimed, "abc"), "zstd", "", true, claimed};
    CHECK(refusal(support::open_bytes(built(content))) == errc::decode_limit);
    content.exponents.states_size = content.fractions.states_size = false;
    const reader silent = support::opened(built(content, version::v1_1));
    CHECK(refusal(silent.read<bfloat16>("w")) == errc::size_mismatch);
    CHECK_FALSE(silent["w"].format().is_known());
}

TEST_CASE("the word of the layout means nothing in 0.1, and objects around planes are what they are") {
    using namespace planes_refused;
    sample old(version::v0_1);
    old.object("layout", cbor::text(word)).object("planes.dtype", cbor::text("bf16"));
    old.object("planes.exponent_bits", cbor::number(8));
    const reader opened = support::opened(old.file());
    CHECK_FALSE(opened["w"].format().is_known());
    CHECK(refusal(opened["w"].data()) == errc::layout_components);
    CHECK(refusal(opened.read<float>("w")) == errc::layout_components);
    for (const format_version version : versions) {
        const reader file = support::reopened(write_options().version(version), [](writer& out) {
            const std::vector<std::uint8_t> six(6, 1);
            const std::vector<std::uint8_t> none;
            for (const char* const name : {"a", "b", "c"}) {
                out.add_object(name, object_draft(word, {2, 3})
                                         .component("exponent", six)
                                         .component("fraction", six)
                                         .attributes(planes::attributes_of("bf16")))
                    .value();
            }
            out.add_object("d", object_draft("vendor.other/1", {2, 3}).component("exponent", six)).value();
            out.add_object("e", object_draft(word, {0, 3})
                                    .component("exponent", none)
                                    .component("fraction", none, store().zstd())
                                    .attributes(planes::attributes_of("f16")))
                .value();
            out.add_object("f", object_draft(word, {1})
                                    .component("exponent", none)
                                    .component("fraction", none)
                                    .attributes(planes::attributes_of("f16")))
                .value();
        });
        for (const char* const name : {"a", "b", "c"}) {
            CHECK(support::outcome(file.read<bfloat16>(name)) == "ok");
        }
        CHECK(refusal(file.read<bfloat16>("d")) == errc::unsupported_format);
        CHECK(file.read<ztensor::float16>("e").value().empty());
        CHECK(file.read_as<float>("e").value().empty());
        CHECK(refusal(file.read<ztensor::float16>("f")) == errc::size_mismatch);
    }
}

TEST_CASE("the files of the corpus that break the layout of planes open, and their elements are refused by the rule") {
    using namespace planes_refused;
    const std::pair<const char*, errc> files[] = {
        {"unlike_lengths", errc::size_mismatch},      {"unlike_lengths_2", errc::size_mismatch},
        {"too_many_exponents", errc::size_mismatch},  {"lying_dtype", errc::size_mismatch},
        {"lying_dtype_2", errc::size_mismatch},       {"lying_the_other_way", errc::size_mismatch},
        {"unknown_dtype", errc::unsupported_type},    {"seven_bits", errc::unsupported_type},
        {"no_dtype", errc::attribute_not_found},      {"dtype_is_a_number", errc::attribute_type},
        {"no_fraction", errc::layout_components},     {"a_third_component", errc::layout_components},
        {"floats_for_fractions", errc::type_mismatch}};
    for (const auto& [name, code] : files) {
        CAPTURE(name);
        const ztensor::reader file = ztensor::reader::open("tests/corpus/planes/" + std::string(name) + ".zt").value();
        const ztensor::object_view object = file["w"];
        CHECK_FALSE(object.format().is_known());
        CHECK_FALSE(object.is_in_planes());
        CHECK(object.has_attributes());
        CHECK(refusal(object.data()) == code);
        CHECK(refusal(object.read_as<float>()) == code);
        for (const ztensor::component_view component : object) {
            CHECK(component.read<std::byte>().value().size() == component.decoded_bytes().value());
        }
    }
}
