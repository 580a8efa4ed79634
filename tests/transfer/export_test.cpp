// SPDX-License-Identifier: MIT
//
// Exports: the exact bytes of small files, the structure of large ones, and what other formats can't say. That their
// own packages read them is tests/interop/check_export.py's to say.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/float_types.hpp>
#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using support::refusal;
using support::sample;
using support::temp_dir;
using ztensor::dtype;
using ztensor::errc;
using ztensor::export_options;
using ztensor::reader;
using ztensor::result;
using ztensor::writer;

using exporter = result<void> (*)(const reader&, const ztensor::file_path&, const export_options&);

reader file_of(const support::fill_function& fill) {
    return support::reopened({}, fill);
}

void fill_small(writer& to) {
    to.add("b", {2, 1}, std::vector<float>{1, 2}).value();
    to.add("a", {}, std::vector<std::uint8_t>{7}).value();
    to.add("c", {1}, std::vector<std::uint64_t>{3}, ztensor::store().zstd()).value();
    to.add("d", {0, 3}, std::vector<float>{}).value();
}

/// The little-endian number at `at`, of an archive in memory.
std::size_t number_at(std::string_view content, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) {
        value = value << 8 | static_cast<unsigned char>(content.at(at + i));
    }
    return static_cast<std::size_t>(value);
}

struct entry {
    std::size_t data_offset;
    std::string data;
    std::uint64_t crc;
};

/// The stored entries of an archive, found by its directory. Every local header says what the directory says.
std::map<std::string, entry> entries_of(const std::string& zip) {
    const std::size_t end = zip.size() - 22;
    REQUIRE(number_at(zip, end, 4) == 0x06054b50);
    std::map<std::string, entry> entries;
    std::size_t at = number_at(zip, end + 16, 4);
    for (std::uint64_t i = 0; i < number_at(zip, end + 10, 2); ++i) {
        REQUIRE(number_at(zip, at, 4) == 0x02014b50);
        const std::size_t name_bytes = number_at(zip, at + 28, 2);
        const std::string name = zip.substr(at + 46, name_bytes);
        const std::size_t local = number_at(zip, at + 42, 4);
        REQUIRE(number_at(zip, local, 4) == 0x04034b50);
        CHECK(zip.substr(local + 4, 24) == zip.substr(at + 6, 24));
        CHECK(zip.substr(local + 30, name_bytes) == name);
        const std::size_t data = local + 30 + name_bytes + number_at(zip, local + 28, 2);
        entries[name] = {data, zip.substr(data, number_at(zip, at + 24, 4)), number_at(zip, at + 16, 4)};
        at += 46 + name_bytes + number_at(zip, at + 30, 2);
    }
    CHECK(at == end);
    return entries;
}

} // namespace

TEST_CASE("a safetensors file has the widest types first and its data at a multiple of 64") {
    const temp_dir dir;
    const auto from = file_of([](writer& to) {
        fill_small(to);
        to.attributes(ztensor::attributes().set("z", "\"\n\x01\x7f\u00e9").set("a", "")).value();
    });
    ztensor::export_safetensors(from, dir / "m.safetensors").value();
    std::string header = "{\"__metadata__\":{\"a\":\"\",\"z\":\"\\\"\\n\\u0001\x7f\u00e9\"},"
                         "\"c\":{\"dtype\":\"U64\",\"shape\":[1],\"data_offsets\":[0,8]},"
                         "\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[8,16]},"
                         "\"d\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[16,16]},"
                         "\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[16,17]}}";
    header.resize((header.size() + 8 + 63) / 64 * 64 - 8, ' ');
    const std::string data = support::little_endian(3, 8) + support::little_endian({0x3f800000, 0x40000000}, 4) + "\7";
    CHECK(support::read_file(dir / "m.safetensors") == support::little_endian(header.size(), 8) + header + data);
    CHECK(dir.names() == std::vector<std::string>{"m.safetensors"});
}

TEST_CASE("elements of four and six bits go to safetensors packed as they are, where they fill whole bytes") {
    const temp_dir dir;
    const auto packed = [](const char* type, std::uint64_t elements, const std::string& content) {
        return file_of([&](writer& to) {
            ztensor::object_draft draft("dense", {elements});
            draft.component_bytes("data", dtype::u8, support::bytes_of(content), ztensor::store().type(type));
            to.add_object("w", draft).value();
        });
    };
    struct row {
        const char* type;
        std::uint64_t elements;
        std::string content;
        const char* word; ///< null: refused
    };
    const row rows[] = {{"f4", 4, "ab", "F4"},
                        {"f4", 0, "", "F4"},
                        {"f4_e2m1", 4, "ab", "F4"},
                        {"f4_e2m1fn_x2", 2, "ab", "F4"}, // of PyTorch, whose shapes count bytes
                        {"f6_e2m3", 4, "abc", "F6_E2M3"},
                        {"f6_e3m2", 8, "abcdef", "F6_E3M2"},
                        {"f4", 3, "ab", nullptr},
                        {"f4", 4, "abcd", nullptr},
                        {"f6_e2m3", 2, "ab", nullptr},
                        {"u4", 4, "ab", nullptr}};
    for (const row& each : rows) {
        CAPTURE(each.type, each.elements);
        const auto done = ztensor::export_safetensors(packed(each.type, each.elements, each.content), dir / "m");
        CHECK(support::outcome(done) == (each.word != nullptr ? "ok" : "not_expressible"));
        if (each.word != nullptr) {
            const std::string content = support::read_file(dir / "m");
            CHECK(content.find("{\"dtype\":\"" + std::string(each.word) + '"') != std::string::npos);
            CHECK(content.substr(content.size() - each.content.size()) == each.content);
            const auto back = ztensor::open_any(dir / "m").value();
            const std::string type = each.type;
            CHECK(back.find("w").value().type().text() == (type.substr(0, 2) == "f4" ? "f4" : type));
            CHECK(back.find("w").value().element_count() == (type == "f4_e2m1fn_x2" ? 4 : each.elements));
        }
    }
}

TEST_CASE("without attributes a safetensors file has no metadata, and without tensors nothing else") {
    const temp_dir dir;
    const auto content = [&](const reader& from, const export_options& options) {
        ztensor::export_safetensors(from, dir / "m", options).value();
        return support::read_file(dir / "m");
    };
    const std::string empty = support::little_endian(56, 8) + "{}" + support::repeated(54, " ");
    CHECK(content(file_of([](writer&) {}), {}) == empty);
    const auto noted = file_of([](writer& to) { to.attributes(ztensor::attributes().set("n", 1)).value(); });
    CHECK(content(noted, export_options().attributes(false)) == empty);
}

TEST_CASE("an npz is a ZIP archive of stored npy files, whose data lies at multiples of 64") {
    const temp_dir dir;
    const auto from = file_of([](writer& to) {
        fill_small(to);
        to.add("\u00e9/x", {3}, std::vector<std::complex<double>>(3, {1, -1})).value();
    });
    ztensor::export_npz(from, dir / "m.npz").value();
    const auto entries = entries_of(support::read_file(dir / "m.npz"));
    REQUIRE(entries.size() == 5);
    for (const auto& [name, each] : entries) {
        INFO(name);
        CHECK(each.data_offset % 64 == 0);
        CHECK(each.crc == support::crc32_of(each.data));
        CHECK(each.data.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8));
        CHECK((number_at(each.data, 8, 2) + 10) % 64 == 0);
    }
    const std::string& b = entries.at("b.npy").data;
    CHECK(b.substr(10, 59) == "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }");
    CHECK(b.substr(b.size() - 9) == "\n" + support::little_endian({0x3f800000, 0x40000000}, 4));
    CHECK(entries.at("a.npy").data.find("'|u1', 'fortran_order': False, 'shape': (), }") != std::string::npos);
    CHECK(entries.at("\u00e9/x.npy").data.find("'<c16', 'fortran_order': False, 'shape': (3,), }") !=
          std::string::npos);
}

TEST_CASE("more entries than a ZIP archive counts, or data beyond 4 GiB, make a ZIP64 archive") {
    const temp_dir dir;
    const auto from = file_of([](writer& to) {
        for (int i = 0; i < 65535; ++i) {
            to.add(std::to_string(i), {1}, std::vector<std::uint8_t>{1}).value();
        }
    });
    ztensor::export_npz(from, dir / "m.npz", export_options().sync(ztensor::sync_level::none)).value();
    const std::string zip = support::read_file(dir / "m.npz");
    const std::size_t end = zip.size() - 22;
    CHECK(number_at(zip, end + 10, 2) == 0xffff);
    const std::size_t locator = end - 20;
    CHECK(number_at(zip, locator, 4) == 0x07064b50);
    const std::size_t record = number_at(zip, locator + 8, 8);
    CHECK(record == locator - 56);
    CHECK(number_at(zip, record, 4) == 0x06064b50);
    CHECK(number_at(zip, record + 32, 8) == 65535);
    CHECK(number_at(zip, record + 40, 8) + number_at(zip, record + 48, 8) == record);
}

TEST_CASE("an npy file is one tensor") {
    const temp_dir dir;
    const auto from = file_of(fill_small);
    ztensor::export_npy(from.find("b").value(), dir / "b.npy").value();
    ztensor::export_npz(from, dir / "m.npz").value();
    CHECK(support::read_file(dir / "b.npy") == entries_of(support::read_file(dir / "m.npz")).at("b.npy").data);
}

TEST_CASE("exports select, rename, convert floats and tell how far they are") {
    const temp_dir dir;
    const auto from = file_of([](writer& to) {
        fill_small(to);
        to.add("h", {2}, std::vector<ztensor::bfloat16>{ztensor::bfloat16(1.0F), ztensor::bfloat16(3.0F)}).value();
        to.add("e", {1}, std::vector<ztensor::float8_e5m2>{ztensor::float8_e5m2(2.0F)}).value();
    });
    std::vector<std::string> told;
    const auto options = export_options()
                             .select([](const auto& object) { return object.name() != "d"; })
                             .rename([](std::string_view name) { return "x." + std::string(name); })
                             .floats_as(dtype::f16)
                             .progress([&](const auto& progress) {
                                 told.emplace_back(progress.object);
                                 CHECK(progress.total_bytes == 19);
                                 return true;
                             });
    ztensor::export_npz(from, dir / "m.npz", options).value();
    const auto entries = entries_of(support::read_file(dir / "m.npz"));
    CHECK(entries.size() == 5);
    CHECK(told.size() == 5);
    const auto data_of = [&](const char* name) {
        const std::string& npy = entries.at(name).data;
        return npy.substr(10 + number_at(npy, 8, 2));
    };
    CHECK(data_of("x.b.npy") == support::little_endian({0x3c00, 0x4000}, 2));
    CHECK(data_of("x.h.npy") == support::little_endian({0x3c00, 0x4200}, 2));
    CHECK(data_of("x.e.npy") == support::little_endian(0x4000, 2));
    CHECK(data_of("x.c.npy") == support::little_endian(3, 8));
}

TEST_CASE("floats are written as others where they are floats, however narrow, and nothing else is") {
    const temp_dir dir;
    const auto from = file_of([](writer& to) {
        to.add("c", {1}, std::vector<std::complex<float>>{{1, 2}}).value();
        to.add("i", {2}, std::vector<std::int32_t>{1, 2}).value();
        to.add("f", {2}, std::vector<float>{1, 2}).value();
    });
    ztensor::export_npz(from, dir / "m.npz", export_options().floats_as(dtype::f16)).value();
    const auto entries = entries_of(support::read_file(dir / "m.npz"));
    const auto says = [&](const char* name, const char* descr) {
        return entries.at(name).data.find(descr) != std::string::npos;
    };
    CHECK(says("c.npy", "'<c8'"));
    CHECK(says("i.npy", "'<i4'"));
    CHECK(says("f.npy", "'<f2'"));
    support::sample narrow;
    narrow.dtype("u8").component("type", support::cbor::text("f4_e2m1")).shape({2}).blob("\x42");
    const auto packed = support::opened(narrow.file());
    ztensor::export_npy(packed.find("w").value(), dir / "w.npy", export_options().floats_as(dtype::f32)).value();
    const std::string npy = support::read_file(dir / "w.npy");
    CHECK(npy.substr(10 + number_at(npy, 8, 2)) == support::little_endian({0x3f800000, 0x40000000}, 4));
    support::sample blocks;
    const support::bytes block = support::bytes("\0\x3c", 2) + support::bytes(32, '\2'); // a scale of 1, and 32 twos
    blocks.dtype("u8").shape({32}).blob(block).object("format", support::cbor::text("gguf.q8_0/1"));
    support::cbor::map attributes = {{"block_bytes", support::cbor::number(34)},
                                     {"elems_per_block", support::cbor::number(32)}};
    const auto outcome_of_blocks = [&] {
        const auto file = support::opened(blocks.object("attributes", attributes).file());
        return support::outcome(ztensor::export_npz(file, dir / "b.npz", export_options().floats_as(dtype::f32)));
    };
    CHECK(outcome_of_blocks() == "ok");
    attributes.set("other", support::cbor::number(1));
    CHECK(outcome_of_blocks() == "not_expressible");
    support::sample own;
    own.object("format", support::cbor::text("own/1"));
    const auto other = support::opened(own.file());
    CHECK(support::refusal(ztensor::export_npy(other.find("w").value(), dir / "o.npy",
                                               export_options().floats_as(dtype::f32))) == errc::not_expressible);
}

TEST_CASE("what another format can't say is refused by name, and the old file stays") {
    const temp_dir dir;
    struct row {
        const char* what;
        reader from;
        errc safetensors; ///< cancelled stands for none: the exports are stopped after the first tensor
        errc npz;
    };
    constexpr errc none = errc::cancelled;
    constexpr errc no_word = errc::not_expressible;
    const auto named = [](const std::string& name) {
        return file_of([&](writer& to) { to.add(name, {1}, std::vector<float>{1}).value(); });
    };
    const auto of_object = [](const ztensor::attributes& attributes) {
        return file_of([&](writer& to) {
            const std::vector<float> one = {1};
            to.add_object("w", ztensor::object_draft("dense", {1}).component("data", one).attributes(attributes))
                .value();
        });
    };
    const auto golden = [](const char* name) { return reader::open(support::golden_path(name)).value(); };
    const std::vector<row> rows = {
        {"a tensor", named("w"), none, none},
        {"sparse", golden("v1.2-sparse-csr.zt"), no_word, no_word},
        {"quantized", golden("v1.2-quantized-group.zt"), no_word, no_word},
        {"custom format", golden("v1.2-custom-format.zt"), no_word, no_word},
        {"unknown words", golden("s1.2-unknown-vocabulary.zt"), no_word, no_word},
        {"attribute of an object", of_object(ztensor::attributes().set("k", "v")), no_word, no_word},
        {"an empty map of them", of_object({}), none, none},
        {"text attribute", file_of([](writer& to) {
             to.attributes(ztensor::attributes().set("k", "v")).value();
             to.add("w", {1}, std::vector<float>{1}).value();
         }),
         none, no_word},
        {"number attribute", file_of([](writer& to) { to.attributes(ztensor::attributes().set("k", 1)).value(); }),
         no_word, no_word},
        {"bf16", file_of([](writer& to) { to.add("w", {1}, std::vector<ztensor::bfloat16>(1)).value(); }), none,
         no_word},
        {"f8", file_of([](writer& to) { to.add("w", {1}, std::vector<ztensor::float8_e5m2fnuz>(1)).value(); }), none,
         no_word},
        {"complex64", file_of([](writer& to) { to.add("w", {1}, std::vector<std::complex<float>>(1)).value(); }), none,
         none},
        {"complex128", file_of([](writer& to) { to.add("w", {1}, std::vector<std::complex<double>>(1)).value(); }),
         no_word, none},
        {"name of the metadata", named("__metadata__"), no_word, none},
        {"root", named("/etc/w"), none, no_word},
        {"upwards", named("a/../../w"), none, no_word},
        {"upwards alone", named(".."), none, no_word},
        {"backslash", named("a\\w"), none, no_word},
        {"dots", named("a..b/.c"), none, none},
        {"unknown dtype", support::opened(sample().dtype("f3").file()), no_word, no_word},
        {"damaged", support::opened(sample().component("digest", support::cbor::text("crc32c:0x00000000")).file()),
         errc::digest_mismatch, errc::digest_mismatch},
    };
    support::write_file(dir / "old", "old");
    const auto stop = export_options().progress([](const auto&) { return false; });
    for (const row& each : rows) {
        INFO(each.what);
        CHECK(refusal(ztensor::export_safetensors(each.from, dir / "old", stop)) == each.safetensors);
        CHECK(refusal(ztensor::export_npz(each.from, dir / "old", stop)) == each.npz);
    }
    CHECK(support::read_file(dir / "old") == "old");
    CHECK(dir.names() == std::vector<std::string>{"old"});
}

TEST_CASE("names and types that the caller asks for are checked before anything is written") {
    const temp_dir dir;
    const auto from = file_of(fill_small);
    const auto naming = [](std::string name) {
        return export_options().rename([=](std::string_view) { return name; });
    };
    for (const exporter write : {exporter(ztensor::export_safetensors), exporter(ztensor::export_npz)}) {
        CHECK(refusal(write(from, dir / "m", naming("same"))) == errc::duplicate_key);
        CHECK(refusal(write(from, dir / "m", naming(""))) == errc::name_invalid);
        CHECK(refusal(write(from, dir / "m", naming("\xff"))) == errc::name_invalid);
        CHECK(refusal(write(from, dir / "m", export_options().floats_as(dtype::i8))) == errc::invalid_argument);
        CHECK(refusal(write(from, dir.path(), {})) == errc::not_regular_file);
        CHECK(refusal(write(from, dir / "none" / "m", {})) == errc::io_error);
    }
    CHECK(dir.names().empty());
}

TEST_CASE("an npy file has each type of numpy's") {
    const temp_dir dir;
    using type_row = std::pair<dtype, const char*>;
    for (const auto& [storage, descr] :
         {type_row{dtype::f64, "<f8"}, type_row{dtype::f32, "<f4"}, type_row{dtype::f16, "<f2"},
          type_row{dtype::i64, "<i8"}, type_row{dtype::i32, "<i4"}, type_row{dtype::i16, "<i2"},
          type_row{dtype::i8, "|i1"}, type_row{dtype::u64, "<u8"}, type_row{dtype::u32, "<u4"},
          type_row{dtype::u16, "<u2"}, type_row{dtype::u8, "|u1"}, type_row{dtype::boolean, "|b1"}}) {
        CAPTURE(descr);
        const support::bytes content(2 * ztensor::width_bytes(storage), '\1');
        for (const ztensor::format_version version : {ztensor::format_version::v1_2, ztensor::format_version::v2}) {
            const ztensor::dtype kind = storage; // no binding can be captured
            const auto options = ztensor::write_options().version(version);
            const reader from = support::reopened(
                options, [&](writer& to) { to.add_bytes("w", {2}, kind, support::bytes_of(content)).value(); });
            ztensor::export_npy(from.find("w").value(), dir / "w.npy").value();
            const std::string made = support::read_file(dir / "w.npy");
            CHECK(made.find(std::string("'descr': '") + descr + "'") != std::string::npos);
            CHECK(made.substr(made.size() - content.size()) == content);
            ztensor::export_safetensors(from, dir / "w.safetensors").value();
            const reader back = ztensor::open_any(dir / "w.safetensors").value();
            CHECK(support::as_string(back.find("w").value().data().value().read_little_endian().value()) == content);
        }
    }
}

TEST_CASE("what can't be exported is refused with the file that it is in, and the object") {
    const support::temp_dir dir;
    const std::string path = (dir / "f.zt").string();
    {
        auto out = ztensor::writer::create(path).value();
        out.add("w", {2}, std::vector<ztensor::bfloat16>(2)).value(); // which NumPy has no word for
        out.finish().value();
    }
    const auto from = ztensor::reader::open(path).value();
    for (const auto& refused :
         {ztensor::export_npy(from.find("w").value(), dir / "w.npy"), ztensor::export_npz(from, dir / "w.npz")}) {
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code() == ztensor::errc::not_expressible);
        CHECK(refused.error().path() == path);
        CHECK(refused.error().object() == "w");
    }
}
