// SPDX-License-Identifier: MIT
//
// .npy and .npz: orders of elements and bytes, what is made when it is read, and checksums.
#include "import/foreign_files.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using support::refusal;
using ztensor::errc;
using ztensor::open_any;

namespace {

ztensor::reader numpy_file(const std::filesystem::path& name, const ztensor::read_options& options = {}) {
    return open_any(support::foreign_corpus_path(name), options).value();
}

/// The stored archive of the corpus with one byte changed, behind the first place of `text`.
ztensor::result<ztensor::reader> damaged_archive(const support::temp_dir& folder, std::string_view name,
                                                 std::string_view text, std::size_t behind,
                                                 const ztensor::read_options& options = {}) {
    std::string content = support::read_file(support::foreign_corpus_path(name));
    const std::size_t at = content.find(text);
    REQUIRE(at != std::string::npos);
    content[at + behind] = static_cast<char>(content[at + behind] ^ 1);
    support::write_file(folder / "damaged.npz", content);
    return open_any(folder / "damaged.npz", options);
}

/// An .npy file of that header.
std::string npy_file_of(std::string_view header, std::string_view elements, char version = 1) {
    const std::string size = support::little_endian(header.size(), version == 1 ? 2 : 4);
    return std::string("\x93NUMPY") + version + '\0' + size + std::string(header) + std::string(elements);
}

/// One of two elements of that type.
std::string npy_file(std::string_view type, std::string_view elements) {
    return npy_file_of("{'descr': '" + std::string(type) + "', 'fortran_order': False, 'shape': (2,), }", elements);
}

std::vector<double> counted(std::size_t count) {
    std::vector<double> numbers;
    for (std::size_t i = 0; i < count; ++i) {
        numbers.push_back(static_cast<double>(i));
    }
    return numbers;
}

} // namespace

TEST_CASE("an array in an .npy file is called as the file, and viewed where it lies") {
    const auto file = numpy_file("npy/f32.npy");
    CHECK(file.container() == ztensor::container_kind::npy);
    CHECK(file.begin() != file.end());
    const auto view = file.view<float>("f32"); // at a multiple of 64: NumPy sees to that
    if (support::host_is_little_endian()) {
        REQUIRE(support::outcome(view) == "ok");
        CHECK((*view)[23] == 23);
    } else {
        CHECK(refusal(view) == errc::needs_byteswap);
    }
    CHECK(
        numpy_file(u"npy/a name with spaces, \u00fc and a.dot.npy").contains("a name with spaces, \xc3\xbc and a.dot"));
}

TEST_CASE("Fortran's order is put right by reading, and never viewed") {
    const auto file = numpy_file("npy/f64_fortran.npy");
    CHECK(file.find("f64_fortran")->shape() == ztensor::shape{2, 3, 4});
    CHECK(file.read<double>("f64_fortran").value() == counted(24));
    CHECK(refusal(file.view<double>("f64_fortran")) == errc::not_viewable);
    CHECK(file["f64_fortran"].rows(1, 2).read<double>().value()[0] == 12);
    CHECK(file["f64_fortran"].slice({{0, 2}, {1, 2}, {3, 4}}).read<double>().value() == std::vector<double>{7, 19});
    CHECK(file.view<double>("f64_fortran").error().sentence().find("transposed") != std::string::npos);
}

TEST_CASE("a transposed matrix of many squares has each element in its place") {
    const auto file = numpy_file("npy/i16_fortran_matrix.npy");
    const auto elements = file.read<std::int16_t>("i16_fortran_matrix").value();
    bool is_right = elements.size() == std::size_t{70} * 45;
    for (std::size_t i = 0; i < elements.size(); ++i) {
        is_right = is_right && elements[i] == static_cast<std::int16_t>(i);
    }
    CHECK(is_right);
}

TEST_CASE("an array that is the same in both orders is viewed, whichever it is written in") {
    const support::temp_dir folder;
    for (const char* const shape : {"(6,)", "(1, 6)", "(6, 1)", "(1, 6, 1)", "(2, 3)"}) {
        CAPTURE(shape);
        const std::string header = std::string("{'descr': '|u1', 'fortran_order': True, 'shape': ") + shape + "}\n";
        support::write_file(folder / "a.npy", npy_file_of(header, "abcdef", '\1'));
        const auto file = open_any(folder / "a.npy");
        REQUIRE(support::outcome(file) == "ok");
        const bool is_one = std::string_view(shape) != "(2, 3)";
        CHECK(static_cast<bool>(file->find("a")->view<std::uint8_t>()) == is_one);
    }
}

TEST_CASE("big-endian arrays are swapped by reading") {
    const auto file = numpy_file("npy/i32_big_endian.npy");
    CHECK(file.read<std::int32_t>("i32_big_endian").value()[23] == 23);
    CHECK(file.find("i32_big_endian")->data()->is_big_endian());
    CHECK(file.find("i32_big_endian")->data()->dtype() == ztensor::dtype::i32);
    CHECK(numpy_file("npy/u16_big_endian_fortran.npy").read<std::uint16_t>("u16_big_endian_fortran").value()[23] == 23);
}

TEST_CASE("stored entries of an archive are viewed in the file, deflated ones only read") {
    const auto stored = numpy_file("npz/stored.npz");
    CHECK(stored.container() == ztensor::container_kind::npz);
    CHECK(stored.view<std::uint8_t>("u8").value()[23] == 230);
    CHECK(refusal(stored.view<float>("fortran")) == errc::not_viewable);
    const auto deflated = numpy_file("npz/compressed.npz");
    CHECK(refusal(deflated.view<std::uint8_t>("u8")) == errc::not_viewable);
    CHECK(deflated.is_mapped()); // the file is
    CHECK(deflated.read<std::uint8_t>("u8").value()[23] == 230);
    CHECK(deflated.find("u8")->data()->offset() > deflated.file_bytes());
    CHECK(deflated["large"].rows(39990, 40000).read<std::int16_t>().value()[9] == 39999 % 7);
    CHECK(deflated.read_as<double>("fortran").value() == counted(24));
}

TEST_CASE("the checksum of an entry is a digest, which covers the header of its array, too") {
    const auto file = numpy_file("npz/stored.npz");
    CHECK(file.find("u8")->data()->digest().text().substr(0, 6) == "crc32:");
    CHECK(file.find("u8")->data()->digest().text().size() == 14);
    const ztensor::verification found = file.verify().value();
    CHECK(found.complete());
    CHECK(found.verified == file.size());
    const auto deflated = numpy_file("npz/compressed.npz");
    CHECK(deflated.verify(2).value().complete());
    for (const ztensor::object_view object : file) {
        CHECK(object.data()->verify().value() == ztensor::digest_state::match);
    }
}

TEST_CASE("a changed byte of a stored entry is found by verify(), and when the array is read") {
    const support::temp_dir folder;
    const std::string_view header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 4), }";
    for (const std::size_t behind : {header.size() + 1, std::size_t{120}}) { // of the header's padding; of the data
        CAPTURE(behind);
        const auto damaged = damaged_archive(folder, "npz/stored.npz", header, behind);
        if (!damaged) {
            CHECK(refusal(damaged) == errc::header_malformed); // the padding is looked at
            continue;
        }
        CHECK(damaged->verify().value().mismatches.size() == 1);
        CHECK(damaged->verify().value().mismatches[0].verify().value() == ztensor::digest_state::mismatch);
        CHECK(refusal(damaged->read<std::uint8_t>("u8")) == errc::digest_mismatch);
        std::vector<std::uint8_t> loaded(24);
        CHECK(refusal(ztensor::load_plan(*damaged).add("u8", loaded).run()) == errc::digest_mismatch);
        const auto unchecked = open_any(folder / "damaged.npz", ztensor::read_options().verify_digests(false));
        CHECK(unchecked->read<std::uint8_t>("u8").value().size() == 24);
        CHECK(damaged->read<std::int8_t>("i8").value().size() == 24);
    }
}

TEST_CASE("a changed byte of an entry in Fortran's order is found, too") {
    const support::temp_dir folder;
    const auto damaged = damaged_archive(folder, "npz/stored.npz", "'fortran_order': True", 120);
    REQUIRE(support::outcome(damaged) == "ok");
    CHECK(damaged->verify().value().mismatches.size() == 1);
    CHECK(refusal(damaged->read<float>("fortran")) == errc::digest_mismatch);
}

TEST_CASE("a changed byte of a deflated entry is found by verify(), and when the array is read") {
    const support::temp_dir folder;
    const auto damaged = damaged_archive(folder, "npz/compressed.npz", "large.npy", 150);
    REQUIRE(support::outcome(damaged) == "ok");
    CHECK(damaged->verify().value().mismatches.size() == 1);
    const auto read = damaged->read<std::int16_t>("large");
    CHECK((refusal(read) == errc::digest_mismatch || refusal(read) == errc::decode_failed ||
           refusal(read) == errc::decode_size));
    CHECK(damaged->read<std::uint8_t>("u8").value().size() == 24);
}

TEST_CASE("all arrays of an archive are loaded by one plan, on several threads") {
    for (const char* name : {"npz/stored.npz", "npz/compressed.npz"}) {
        const auto file = numpy_file(name);
        for (const unsigned threads : {1u, 4u}) {
            const auto loaded = ztensor::read_all(file, ztensor::load_options().threads(threads));
            REQUIRE(support::outcome(loaded) == "ok");
            CHECK(loaded->size() == file.size());
            for (const ztensor::loaded_tensor& each : *loaded) {
                CAPTURE(name, each.object.name());
                const auto alone = each.object.data()->read_little_endian().value();
                CHECK(each.bytes.size() == alone.size());
                if (!each.object.data()->is_big_endian()) {
                    const std::size_t width = ztensor::width_bytes(each.object.data()->dtype().known().value());
                    const support::bytes in_file(ztensor::detail::as_text(alone));
                    CHECK(ztensor::detail::as_text(each.bytes) == support::between_file_and_host(in_file, width));
                }
            }
        }
    }
}

TEST_CASE("what is inflated is bounded before memory is taken for it") {
    const auto file = numpy_file("npz/compressed.npz", ztensor::read_options().max_decoded_bytes(1000));
    CHECK(refusal(file.read<std::int16_t>("large")) == errc::limit_exceeded);
    CHECK(refusal(file["large"].rows(0, 1).read<std::int16_t>()) == errc::limit_exceeded);
    CHECK(refusal(file.verify()) == errc::limit_exceeded);
    CHECK(file.read<std::uint8_t>("u8").value().size() == 24);
}

TEST_CASE("arrays of other files are copied into .zt as they are") {
    const support::temp_dir folder;
    for (const char* name : {"npz/stored.npz", "npz/compressed.npz", "npy/u16_big_endian_fortran.npy"}) {
        CAPTURE(name);
        const auto from = numpy_file(name);
        auto out = ztensor::writer::create(folder / "copy.zt").value();
        REQUIRE(support::outcome(ztensor::copy(from, out)) == "ok");
        REQUIRE(support::outcome(out.finish()) == "ok");
        const auto copy = ztensor::reader::open(folder / "copy.zt").value();
        CHECK(copy.size() == from.size());
        for (const ztensor::object_view object : from) {
            CAPTURE(object.name());
            CHECK(copy.find(object.name())->shape() == object.shape());
            CHECK(copy.find(object.name())->data()->read_little_endian().value() ==
                  object.data()->read_little_endian().value());
            CHECK_FALSE(copy.find(object.name())->data()->digest().is_present());
        }
    }
}

TEST_CASE("the record behind the bytes of an entry may be its three numbers alone") {
    std::string content = support::read_file(support::foreign_corpus_path("npz/streamed.npz"));
    const std::size_t directory = content.find("PK\1\2");
    constexpr std::size_t long_bytes = 24, short_bytes = 12; // with a magic and sizes of 8 bytes, or of 4
    REQUIRE(content.substr(directory - long_bytes, 4) == "PK\7\x08");
    const std::string numbers = content.substr(directory - 20, 8) + content.substr(directory - 8, 4);
    content.replace(directory - long_bytes, long_bytes, numbers);
    const std::size_t offset_of_directory = content.size() - 6;
    content.replace(offset_of_directory, 4, support::little_endian(directory - long_bytes + short_bytes, 4));
    const support::temp_dir folder;
    support::write_file(folder / "short.npz", content);
    const auto file = open_any(folder / "short.npz");
    REQUIRE(support::outcome(file) == "ok");
    CHECK(file->verify().value().mismatches.empty());
    support::write_file(folder / "wrong.npz",
                        content.replace(directory - long_bytes, 1, 1, content[directory - 20] == 'x' ? 'y' : 'x'));
    CHECK(refusal(open_any(folder / "wrong.npz")) == errc::zip_malformed);
}

TEST_CASE("arrays of an archive that are no numbers are skipped and listed, and the others are read") {
    const auto file = numpy_file("npz/no_numbers.npz");
    CHECK(file.read<float>("weight").value() == std::vector<float>{0, 1, 2, 3, 4, 5});
    std::map<std::string, std::string> why;
    for (const ztensor::skipped_item& each : file.skipped()) {
        CHECK(each.where.empty());
        why[each.name] = each.why;
    }
    const std::pair<const char*, const char*> expected[] = {
        {"objects", "\"|O\", Python objects, which are never loaded"},
        {"text", "\"<U5\", which is text"},
        {"times", "\"<M8[ns]\", which is a time"},
        {"records", "which is a record"},
        {"long_double", "a float whose layout differs from machine to machine"},
        {"no_bytes", "\"|V0\", of no bytes each"},
        {"many_fields", "what can be read takes a few hundred"},
    };
    for (const auto& [name, words] : expected) {
        CAPTURE(name, why[name]);
        CHECK(why[name].find(words) != std::string::npos);
    }
    CHECK(refusal(file.find("text")) == errc::object_not_found);
    const auto whole = numpy_file("npz/stored.npz");
    CHECK(whole.skipped().empty());
}

TEST_CASE("bytes without a meaning are one dimension more, and an attribute says what NumPy calls them") {
    const auto file = numpy_file("npz/no_numbers.npz");
    CHECK(file.find("void")->shape() == ztensor::shape{2, 3, 4});
    CHECK(file.find("void")->attributes().text("numpy.descr").value() == "|V4");
    CHECK(file.find("void_of_1")->shape() == ztensor::shape{4});
    CHECK(file.find("void_of_2")->shape() == ztensor::shape{4, 2});
    CHECK(file.find("void_fortran")->shape() == ztensor::shape{3, 4, 3});
    std::vector<std::uint8_t> counted(36);
    std::iota(counted.begin(), counted.end(), std::uint8_t{0});
    CHECK(file.read<std::uint8_t>("void_fortran").value() == counted);
    CHECK(file.find("weight")->attributes().empty());
}

TEST_CASE("two bytes are bfloat16 where their order, their field or their array's name says so") {
    const auto file = numpy_file("npz/ml_dtypes.npz");
    const std::vector<float> counted = {0, 1, 2, 3, 4, 5};
    for (const char* name : {"bfloat16", "bfloat16_fortran", "of_bf16", "spelled_bfloat16"}) {
        CAPTURE(name);
        CHECK(file.find(name)->data()->dtype() == ztensor::dtype::bf16);
        CHECK(file.read_as<float>(name).value() == counted);
    }
    CHECK(file.find("onnx_bfloat16")->data()->dtype() == ztensor::dtype::bf16);
    CHECK(file.find("float8_e5m2")->data()->type().text() == "f8_e5m2");
    CHECK(file.read_as<float>("float8_e5m2").value() == counted);
    CHECK(file.find("spelled_float8_e4m3fnuz")->data()->type().text() == "f8_e4m3fnuz");
    CHECK(file.find("spelled_float8_e8m0fnu")->data()->type().text() == "f8_e8m0");
    CHECK(file.find("onnx_e4m3fn")->data()->type().text() == "f8_e4m3fn");
    CHECK(file.find("float8_e4m3fn")->data()->type().text().empty()); // "<V1" is that of several
    CHECK(file.find("float8_e4m3fn")->attributes().text("numpy.descr").value() == "<V1");
    CHECK(numpy_file("npz/mlx.npz").read_as<float>("bfloat16").value() == counted);
    const support::temp_dir folder;
    const auto named = [&](const char* name, const char* descr) {
        support::write_file(folder / name, npy_file(descr, std::string("\x3f\x80\x40\x00", 4)));
        return open_any(folder / name).value();
    };
    const auto by_name = named("weight.BF16.npy", "|V2");
    CHECK(by_name.find("weight.BF16")->data()->dtype() == ztensor::dtype::bf16);
    const auto by_long_name = named("weight.bfloat16.npy", "|V2");
    CHECK(by_long_name.find("weight.bfloat16")->data()->dtype() == ztensor::dtype::bf16);
    for (const char* descr : {"|V2", "=V2", "V2"}) {
        const auto raw = named("weight.npy", descr);
        CHECK(raw.find("weight")->shape() == ztensor::shape{2, 2});
    }
    const auto big_endian = named("weight.npy", ">V2");
    CHECK(big_endian.find("weight")->data()->is_big_endian());
    CHECK(big_endian.read_as<float>("weight").value() == std::vector<float>{1, 2});
}

TEST_CASE("the header of an .npy file may be laid out in any way that Python reads") {
    const support::temp_dir folder;
    const char* const headers[] = {
        "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }",
        "{'shape':(2,),'fortran_order':False,'descr':'<u2'}",
        "\t\n {\f\"descr\" : \"<u2\" ,\r\n 'fortran_order':\tFalse,'shape' : ( 2 , ) } \n\n",
        "{'descr': u'<u2', u'fortran_order': False, U'shape': (2L,), }",
        "{'descr': '<u2', 'fortran_order': True, 'shape': (2L, 1L)}\n",
        "{'descr': 'ushort', 'fortran_order': False, 'shape': (1, 2,)}",
    };
    for (const char* const header : headers) {
        for (const char version : {'\1', '\2', '\3'}) {
            CAPTURE(header, static_cast<int>(version));
            support::write_file(folder / "a.npy", npy_file_of(header, std::string("\1\0\2\0", 4), version));
            const auto file = open_any(folder / "a.npy");
            REQUIRE(support::outcome(file) == "ok");
            CHECK(file->read<std::uint16_t>("a").value() == std::vector<std::uint16_t>{1, 2});
        }
    }
}

TEST_CASE("an array that is alone in its file is refused if it is none of numbers, and the sentence names its type") {
    const support::temp_dir folder;
    const std::pair<const char*, const char*> cases[] = {
        {"<ubyte", "\"<ubyte\", which is no type of numbers"},
        {"|O", "\"|O\", Python objects"},
        {">U3", "which is text"},
        {"str", "which is text"},
        {"datetime64", "which is a time"},
        {"<m8[25s]", "which is a time"},
        {"f4,i4", "which is a record of several"},
        {"G", "differs from machine to machine"},
    };
    for (const auto& [descr, words] : cases) {
        CAPTURE(descr);
        support::write_file(folder / "a.npy", npy_file(descr, std::string(4, '\0')));
        const auto file = open_any(folder / "a.npy");
        REQUIRE(refusal(file) == errc::unknown_dtype);
        CHECK(file.error().sentence().find(words) != std::string::npos);
    }
}

TEST_CASE("the type of a record is a literal of Python whose brackets and quotes are whole") {
    const support::temp_dir folder;
    const auto open_with = [&](const std::string& descr) {
        const std::string header = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (1,)}\n";
        support::write_file(folder / "a.npy", npy_file_of(header, std::string("\x3f\x80", 2), '\1'));
        return open_any(folder / "a.npy");
    };
    const auto by_field = open_with("[('bfloat16', '>u2')]");
    REQUIRE(support::outcome(by_field) == "ok");
    CHECK(by_field->read_as<float>("a").value() == std::vector<float>{1});
    CHECK(refusal(open_with("[('a', '<f4'), ('b', [('c', '<i2', (3L, 4))])]")) == errc::unknown_dtype);
    for (const char* const descr :
         {"[('a', '<f4'))", "[('a', '<f4']", "]", ")", "[('a', '<f4'), x]", "[('a', '<f4), ('b"}) {
        CAPTURE(descr);
        CHECK(refusal(open_with(descr)) == errc::header_malformed);
    }
    support::write_file(folder / "a.npy", npy_file_of("{'descr': [('a', ", std::string(4, '\0'), '\1'));
    CHECK(refusal(open_any(folder / "a.npy")) == errc::header_malformed);
    CHECK(refusal(open_with("ux'<f4'")) == errc::header_malformed); // a mark that stands before no quote
}

TEST_CASE("a ZIP archive that is no .npz is refused for what it is") {
    const std::pair<const char*, const char*> cases[] = {
        {"keras", "Keras"},
        {"word", "Office Open XML"},
        {"wheel", "Python wheel"},
        {"export", "torch.export"},
        {"jar", "Java archive"},
        {"epub", "EPUB"},
        {"zarr", "Zarr"},
        {"text", "it holds \"notes.txt\". "},
        {"upper_case", "\"A.NPY\""},
        {"safetensors", "\"model.safetensors\", \"config.json\", \"a.txt\", ..."},
    };
    for (const auto& [kind, words] : cases) {
        CAPTURE(kind);
        const auto file =
            open_any(support::foreign_corpus_path("npz/reject/of_another_kind_" + std::string(kind) + ".npz"));
        REQUIRE(refusal(file) == errc::foreign_file);
        CHECK(file.error().sentence().find(words) != std::string::npos);
    }
}
