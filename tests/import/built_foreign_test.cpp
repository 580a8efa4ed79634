// SPDX-License-Identifier: MIT
//
// Files of other formats put together byte by byte, as no package writes them but a hostile or a careless one may:
// headers at the edge of what they may say, values of every kind, archives whose records say else than their entries.
#include "import/foreign_files.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/protobuf.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"

#include <ztensor/detail/import/importer.hpp>
#include <ztensor/detail/index/parse.hpp>
#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace built_foreign {

using support::bytes;
using support::little_endian;
using support::outcome;
using support::refusal;
using support::protobuf::field;
using ztensor::errc;
using ztensor::open_any;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;

result<reader> open_as(const std::string& name, const bytes& content, const read_options& options = {}) {
    return open_any(std::make_shared<support::watched_source>(content), name, options);
}

// -- .npy

bytes npy(const bytes& header, const bytes& data) {
    return bytes("\x93NUMPY\1\0", 8) + little_endian(header.size(), 2) + header + data;
}
bytes npy_of(const bytes& type, const bytes& shape, const bytes& data, bool is_fortran = false) {
    return npy("{'descr': '" + type + "', 'fortran_order': " + (is_fortran ? "True" : "False") + ", 'shape': " + shape +
                   "}",
               data);
}

// -- archives

struct zip_entry {
    bytes name;
    bytes stored;
    std::uint64_t size = stored.size();
    std::uint32_t crc = support::crc32_of(stored);
    unsigned method = 0;
    unsigned flags = 0;
    bytes behind = {};
    bytes comment = {};
    unsigned disk = 0;
};

bytes archive(const std::vector<zip_entry>& entries, std::size_t count_more = 0) {
    bytes all, directory;
    for (const zip_entry& each : entries) {
        const bytes numbers = little_endian(each.crc, 4) + little_endian(each.stored.size(), 4) +
                              little_endian(each.size, 4) + little_endian(each.name.size(), 2) + bytes(2, '\0');
        const bytes common = bytes("\x14\0", 2) + little_endian(each.flags, 2) + little_endian(each.method, 2) +
                             bytes(4, '\0') + numbers;
        directory += "PK\1\2" + bytes("\x14\0", 2) + common + little_endian(each.comment.size(), 2) +
                     little_endian(each.disk, 2) + bytes(6, '\0') + little_endian(all.size(), 4) + each.name +
                     each.comment;
        all += "PK\3\4" + common + each.name + each.stored + each.behind;
    }
    const std::size_t count = entries.size() + count_more;
    return all + directory + "PK\5\6" + bytes(4, '\0') + little_endian(count, 2) + little_endian(count, 2) +
           little_endian(directory.size(), 4) + little_endian(all.size(), 4) + bytes(2, '\0');
}

/// Deflated, in one block of bytes as they are.
zip_entry deflated(const bytes& name, const bytes& content) {
    zip_entry made{name, "\1" + little_endian(content.size(), 2) + little_endian(0xffff - content.size(), 2) + content};
    made.size = content.size();
    made.crc = support::crc32_of(content);
    made.method = 8;
    return made;
}

// -- pickles

bytes pickled_text(const bytes& content) {
    return "X" + little_endian(content.size(), 4) + content;
}
bytes pickled_number(std::uint64_t value) {
    return "J" + little_endian(value, 4);
}
bytes pickled_global(const bytes& module, const bytes& name) {
    return "c" + module + "\n" + name + "\n";
}
bytes pickled_tuple(const std::vector<std::uint64_t>& numbers) {
    bytes all = "(";
    for (const std::uint64_t each : numbers) {
        all += pickled_number(each);
    }
    return all + "t";
}
bytes pickled_tensor(const bytes& storage, const bytes& key, std::uint64_t elements,
                     const std::vector<std::uint64_t>& sizes, const std::vector<std::uint64_t>& strides) {
    return pickled_global("torch._utils", "_rebuild_tensor_v2") + "((" + pickled_text("storage") +
           pickled_global("torch", storage) + pickled_text(key) + pickled_text("cpu") + pickled_number(elements) +
           "tQ" + pickled_number(0) + pickled_tuple(sizes) + pickled_tuple(strides) + "\x89)tR";
}
using items = std::vector<std::pair<bytes, bytes>>;
bytes dictionary(const items& values) {
    bytes all("\x80\x02}(", 4);
    for (const auto& [key, value] : values) {
        all += pickled_text(key) + value;
    }
    return all + "u.";
}
bytes checkpoint(const items& values, const std::vector<zip_entry>& more) {
    std::vector<zip_entry> entries = {{"x/data.pkl", dictionary(values)}};
    entries.insert(entries.end(), more.begin(), more.end());
    return archive(entries);
}

// -- ONNX

constexpr unsigned f32_in_onnx = 1, i64_in_onnx = 7;
bytes onnx_tensor(const std::vector<std::uint64_t>& dimensions, unsigned type, const bytes& data,
                  const bytes& name = "w") {
    bytes all;
    for (const std::uint64_t each : dimensions) {
        all += field(1, each);
    }
    return all + field(2, type) + field(8, name) + data;
}
bytes model(const bytes& graph) {
    return field(1, 10) + field(7, field(2, "g") + graph);
}
bytes model_of(const bytes& tensor_message) {
    return model(field(5, tensor_message));
}
bytes sparse(const std::vector<std::uint64_t>& dimensions, const bytes& values, const bytes& indices) {
    bytes all = field(1, values) + field(2, indices);
    for (const std::uint64_t each : dimensions) {
        all += field(3, each);
    }
    return model(field(15, all));
}

} // namespace built_foreign

} // namespace

TEST_CASE("an array is called as its file, whatever that is called") {
    using namespace built_foreign;
    const bytes content = npy_of("<i2", "(1,)", "ab");
    const std::pair<const char*, const char*> names[] = {
        {"folder/w.npy", "w"},
        {"w.npy", "w"},
        {"w.1.npy", "w.1"},
        {"w", "w"},
        {".npy", ".npy"},
        {"folder/", "array"},
        {"", "array"},
#if !defined(_WIN32) // where names are UTF-16
        {"\xff.npy", "array"},
#endif
    };
    for (const auto& [path, name] : names) {
        CAPTURE(path);
        const auto file = open_as(path, content);
        REQUIRE(outcome(file) == "ok");
        CHECK((*file->begin()).name() == name);
    }
}

TEST_CASE("headers of .npy say their type, order and shape in either quotes, and nothing else") {
    using namespace built_foreign;
    const auto opened = [](const bytes& content, const read_options& options = {}) {
        return outcome(open_as("w.npy", content, options));
    };
    CHECK(opened(npy("{\"descr\": \"<i2\", \"fortran_order\": False, \"shape\": (1,)}", "ab")) == "ok");
    CHECK(opened(npy_of(">i1", "(2,)", "ab")) == "ok");
    CHECK(opened(npy_of("|i2", "(1,)", "ab")) == "ok"); // little-endian, as without any mark
    CHECK(opened(npy_of("|a2", "(1,)", "ab")) == "unknown_dtype");
    CHECK(opened(npy_of("|S2", "(1,)", "ab")) == "unknown_dtype");
    CHECK(opened(npy_of("<i2", "(1,)", "abc")) == "unclaimed_bytes");
    CHECK(opened(npy_of("<i2", "(1,)", "abc"), read_options().allow_unclaimed_bytes(true)) == "ok");
    CHECK(opened(npy_of("<i2", "(1,)", "ab"), read_options().max_manifest_bytes(10)) == "manifest_too_large");
    for (const std::size_t size : {8U, 9U, 10U, 11U}) { // of twelve
        CHECK(opened((bytes("\x93NUMPY\2\0", 8) + bytes(4, '\0')).substr(0, size)) == "file_too_small");
    }
}

TEST_CASE("Fortran's order is another one where two dimensions are longer than one") {
    using namespace built_foreign;
    const auto elements = [](const bytes& type, const bytes& shape, const bytes& data) {
        const auto file = open_as("w.npy", npy_of(type, shape, data, true));
        return file ? support::memory_of(file->read<std::byte>("w").value()) : outcome(file);
    };
    CHECK(elements("|u1", "(2, 3)", "abcdef") == "acebdf");
    CHECK(elements("|u1", "(1, 6, 1)", "abcdef") == "abcdef");
    CHECK(elements("<i2", "(2, 0)", "").empty());
    CHECK(elements("<i2", "()", "ab") == "ab");
}

TEST_CASE("entries of archives are found as the directory tells of them, or refused") {
    using namespace built_foreign;
    const bytes array = npy_of("<i2", "(1,)", "ab");
    const zip_entry good{"w.npy", array};
    const auto opened = [](const bytes& content) { return outcome(open_as("x.npz", content)); };
    CHECK(opened(archive({good})) == "ok");
    CHECK(opened(archive({good}, 1)) == "zip_malformed");                              // one more than there is
    CHECK(opened(archive({{bytes(100, 'n') + ".npy", array}}, 1)) == "zip_malformed"); // though there is room for it
    CHECK(opened(archive({{"folder/", ""}, good})) == "ok");
    const auto with_text = open_as("x.npz", archive({{"a.txt", "text"}, {"folder/", "not empty"}, good}));
    REQUIRE(outcome(with_text) == "ok");
    CHECK(with_text->size() == 3);
    CHECK(with_text->verify().value().mismatches.empty());
    const auto of_macos = open_as("x.npz", archive({{"__MACOSX/._w.npy", "no array"}, good}));
    REQUIRE(outcome(of_macos) == "ok");
    CHECK((of_macos->size() == 1 && of_macos->skipped().at(0).name == "__MACOSX/._w.npy"));
    CHECK(opened(archive({{"v.npy", "no array"}, good})) == "bad_magic");
    CHECK(opened(archive({{bytes(5000, 'n') + ".npy", array}})) == "name_invalid");
    zip_entry patched = good;
    patched.flags = 0x20;
    CHECK(opened(archive({patched})) == "unsupported_encoding");
    zip_entry commented = good;
    commented.comment = bytes(300, 'c');
    CHECK(opened(archive({commented, {"v.npy", array}})) == "ok");
    for (const unsigned disk : {1U, 0x100U}) {
        zip_entry elsewhere = good;
        elsewhere.disk = disk;
        CHECK(opened(archive({elsewhere})) == "unsupported_container");
    }
    zip_entry streamed = good;
    streamed.flags = 8;
    streamed.behind = little_endian(streamed.crc, 4) + little_endian(array.size(), 4) + little_endian(array.size(), 4);
    CHECK(opened(archive({streamed})) == "ok");
    streamed.behind = "PK\7\x08" + little_endian(streamed.crc, 4) + little_endian(array.size(), 4); // cut off
    CHECK(opened(archive({streamed})) == "zip_malformed");
}

TEST_CASE("an archive is named for what holds the rest of it, whichever entry stands first") {
    using namespace built_foreign;
    const auto wheel =
        open_as("package.whl", archive({{"package/nmp/saved_model.pb", "x"}, {"package-1.0.dist-info/WHEEL", "y"}}));
    REQUIRE(refusal(wheel) == errc::foreign_file);
    CHECK(wheel.error().sentence().find("Python wheel") != std::string::npos);
}

TEST_CASE("entries that inflate to other than they declare are damaged") {
    using namespace built_foreign;
    const bytes array = npy_of("<i2", "(4,)", "abcdefgh");
    const auto verified = [](const zip_entry& each) {
        const auto file = open_as("x.npz", archive({each}));
        REQUIRE(outcome(file) == "ok");
        const auto answer = file->verify();
        return answer ? std::to_string(answer->mismatches.size()) : outcome(answer);
    };
    CHECK(verified(deflated("w.npy", array)) == "0");
    zip_entry more = deflated("w.npy", array);
    more.stored = deflated("w.npy", array + "x").stored;
    CHECK(verified(more) == "1");
    zip_entry other = deflated("w.npy", array);
    other.crc ^= 1;
    CHECK(verified(other) == "1");
}

TEST_CASE("values of a checkpoint that are no tensors become attributes of their kind") {
    using namespace built_foreign;
    const bytes long_integer("\x8a\x09\1\2\3\4\5\6\7\x08\x09", 11);
    const auto file = open_as("x.pt", checkpoint({{"text", pickled_text("t")},
                                                  {"surrogate", pickled_text("\xed\xa0\x80")},
                                                  {"bytes", "C" + bytes("\3abc")},
                                                  {"long", long_integer}},
                                                 {{"other/file", "of another folder"}}));
    REQUIRE(outcome(file) == "ok");
    CHECK(file->attributes().text("text").value() == "t");
    CHECK(file->attributes().contains("surrogate"));
    CHECK(refusal(file->attributes().text("surrogate")) == errc::attribute_type);
    CHECK(file->attributes().contains("bytes"));
    CHECK(file->attributes().contains("long"));
}

TEST_CASE("a tensor of a checkpoint lies in the file as it is, whatever the strides of dimensions of one index say") {
    using namespace built_foreign;
    const bytes elements = support::counting(12);
    const bytes whole = checkpoint({{"w", pickled_tensor("ShortStorage", "0", 6, {1, 3, 1, 2}, {77, 2, 55, 1})}},
                                   {{"x/data/0", elements}});
    const auto file = open_as("x.pt", whole);
    REQUIRE(outcome(file) == "ok");
    const std::uint64_t offset = file->find("w")->data()->offset(); // of what is gathered, behind the end of the file
    CHECK(whole.substr(static_cast<std::size_t>(std::min<std::uint64_t>(offset, whole.size())), 12) == elements);
    CHECK(support::memory_of(file->read<std::byte>("w").value()) == elements);
}

TEST_CASE("tensors of a checkpoint are gathered from storages of every width, once for all their names") {
    using namespace built_foreign;
    const std::vector<std::uint64_t> sizes = {2, 2}, strides = {1, 2};
    const std::pair<const char*, std::size_t> storages[] = {
        {"ByteStorage", 1}, {"CharStorage", 1}, {"BoolStorage", 1},   {"ShortStorage", 2},
        {"IntStorage", 4},  {"LongStorage", 8}, {"DoubleStorage", 8}, {"ComplexDoubleStorage", 16}};
    for (const char* const order : {"little", "big"}) {
        for (const auto& [storage, width] : storages) {
            CAPTURE(storage, order);
            bytes elements;
            for (const char each : {'\0', '\1', '\1', '\0'}) {
                elements += bytes(width - 1, '\0') + each;
            }
            const bytes gathered = elements.substr(0, width) + elements.substr(2 * width, width) +
                                   elements.substr(width, width) + elements.substr(3 * width);
            const bytes one = pickled_tensor(storage, "0", 4, sizes, strides);
            const auto file = open_as("x.pt", checkpoint({{"a", one + bytes("q\0", 2)},
                                                          {"b", bytes("h\0", 2)},
                                                          {"c", pickled_tensor(storage, "0", 4, {4}, {1})}},
                                                         {{"x/byteorder", order}, {"x/data/0", elements}}));
            REQUIRE(outcome(file) == "ok");
            for (const char* const name : {"a", "b"}) {
                CHECK(support::memory_of(file->read<std::byte>(name).value()) == gathered);
            }
            const ztensor::component_view c = file->find("c")->data().value();
            CHECK(support::memory_of(c.read<std::byte>().value()) == elements);
            CHECK(c.is_big_endian() == (width > 1 && bytes(order) == "big"));
        }
    }
    const auto missing =
        open_as("x.pt", checkpoint({{"a", pickled_tensor("ByteStorage", "zz", 4, {4}, {1})}}, {{"x/data/0", "abcd"}}));
    CHECK(refusal(missing) == errc::schema_missing);
}

namespace {

namespace built_foreign {

bytes pickled_call(const bytes& callable, const std::vector<bytes>& arguments) {
    bytes all = callable + "(";
    for (const bytes& each : arguments) {
        all += each;
    }
    return all + "tR";
}
bytes tuple_of(const std::vector<bytes>& parts) {
    bytes all = "(";
    for (const bytes& each : parts) {
        all += each;
    }
    return all + "t";
}
/// The id of a storage on a device, perhaps with a view of it.
bytes pickled_storage(const bytes& storage, const bytes& key, std::uint64_t elements, const bytes& device = "cpu",
                      const bytes& view = {}) {
    return "(" + pickled_text("storage") + pickled_global("torch", storage) + pickled_text(key) + pickled_text(device) +
           pickled_number(elements) + view + "tQ";
}

/// Why an item of that name was skipped; "" if none was.
std::string why_skipped(const reader& file, std::string_view name) {
    for (const ztensor::skipped_item& each : file.skipped()) {
        if (each.name == name) {
            return each.why;
        }
    }
    return "";
}
bool is_skipped_because(const reader& file, std::string_view name, std::string_view why) {
    return why_skipped(file, name).find(why) != std::string::npos;
}

} // namespace built_foreign

} // namespace

TEST_CASE("a tensor may be both conjugated and negated, and a storage may be shown in part") {
    using namespace built_foreign;
    const bytes both = "}(" + pickled_text("conj") + "\x88" + pickled_text("neg") + "\x88u";
    const bytes changed = pickled_call(pickled_global("torch._utils", "_rebuild_tensor_v2"),
                                       {pickled_storage("ComplexFloatStorage", "0", 1), pickled_number(0),
                                        pickled_tuple({1}), pickled_tuple({1}), "\x89", ")", both});
    const bytes view = tuple_of({pickled_text("v"), pickled_number(1), pickled_number(2)});
    const auto file = open_as("x.pt", checkpoint({{"changed", changed},
                                                  {"shown", pickled_storage("ShortStorage", "1", 4, "cpu", view)},
                                                  {"meta", pickled_storage("ShortStorage", "2", 4, "meta")}},
                                                 {{"x/data/0", bytes("\0\0\x80\x3f\0\0\0\x40", 8)},
                                                  {"x/data/1", bytes("\1\0\2\0\3\0\4\0", 8)}}));
    REQUIRE(outcome(file) == "ok");
    CHECK(support::memory_of(file->read<std::byte>("changed").value()) == // -1 + 2i of 1 + 2i
          support::between_file_and_host(bytes("\0\0\x80\xbf\0\0\0\x40", 8), 4));
    CHECK(file->read<std::int16_t>("shown").value() == std::vector<std::int16_t>{2, 3});
    CHECK(is_skipped_because(*file, "meta", "device meta"));
    const bytes beyond = tuple_of({pickled_text("v"), pickled_number(3), pickled_number(2)});
    CHECK(refusal(open_as("x.pt", checkpoint({{"shown", pickled_storage("ShortStorage", "1", 4, "cpu", beyond)}},
                                             {{"x/data/1", bytes(8, '\1')}}))) == errc::out_of_bounds);
}

TEST_CASE("a checkpoint of nothing is empty, and the second of two values of one name is skipped") {
    using namespace built_foreign;
    const auto empty = open_as("x.pt", checkpoint({}, {}));
    REQUIRE(outcome(empty) == "ok");
    CHECK(empty->size() == 0);
    CHECK(empty->skipped().empty());
    const auto twice = open_as("x.pt", checkpoint({{"a.b", pickled_number(1)},
                                                   {"a", "}" + pickled_text("b") + pickled_number(2) + "s"},
                                                   {"w", pickled_tensor("ByteStorage", "0", 1, {1}, {1})}},
                                                  {{"x/data/0", "x"}}));
    REQUIRE(outcome(twice) == "ok");
    CHECK(twice->attributes().integer("a.b").value() == 1);
    CHECK(is_skipped_because(*twice, "a.b", "another value has the same name"));
}

TEST_CASE("what quantizes a tensor is numbers, or tensors for each channel, and anything else is skipped") {
    using namespace built_foreign;
    const bytes scheme = pickled_global("torch", "per_channel_affine");
    const bytes scales = pickled_tensor("DoubleStorage", "1", 1, {1}, {1});
    const bytes zeros = pickled_tensor("LongStorage", "2", 1, {1}, {1});
    const bytes half = bytes("G\x3f\xe0\0\0\0\0\0\0", 9), axis = pickled_number(0);
    const auto by = [&](const std::vector<bytes>& quantizer) {
        const bytes tensor = pickled_call(pickled_global("torch._utils", "_rebuild_qtensor"),
                                          {pickled_storage("QInt8Storage", "0", 1), pickled_number(0),
                                           pickled_tuple({1}), pickled_tuple({1}), tuple_of(quantizer), "\x89", ")"});
        return open_as("x.pt",
                       checkpoint({{"q", tensor}, {"w", pickled_tensor("ByteStorage", "0", 1, {1}, {1})}},
                                  {{"x/data/0", "x"}, {"x/data/1", bytes(8, '\0')}, {"x/data/2", bytes(8, '\0')}}));
    };
    const auto of_numbers = by({"N", half, axis});
    REQUIRE(outcome(of_numbers) == "ok");
    CHECK(of_numbers->find("q")->attributes().number("scale").value() == 0.5);
    CHECK_FALSE(of_numbers->find("q")->attributes().contains("qscheme"));
    const auto of_channels = by({scheme, scales, zeros, axis});
    REQUIRE(outcome(of_channels) == "ok");
    CHECK(of_channels->contains("q.zero_point"));
    const std::vector<std::vector<bytes>> unknown = {
        {scheme, half, zeros, axis},        {scheme, half, half},    {scheme, axis, axis},
        {scheme, scales, axis, axis},       {scheme, scales, zeros}, {scheme, scales, zeros, half},
        {scheme, scales, zeros, axis, axis}};
    for (std::size_t i = 0; i < unknown.size(); ++i) {
        CAPTURE(i);
        const auto file = by(unknown[i]);
        REQUIRE(outcome(file) == "ok");
        CHECK(is_skipped_because(*file, "q", "quantized in a way that is not known"));
        CHECK(file->size() == 1);
    }
}

TEST_CASE("sparse tensors whose parts no format has are their parts, and named after their layout") {
    using namespace built_foreign;
    const auto names_of = [](const bytes& layout, const std::vector<bytes>& parts) {
        const bytes tensor = pickled_call(pickled_global("torch._utils", "_rebuild_sparse_tensor"),
                                          {pickled_text(layout), tuple_of(parts)});
        const auto file = open_as("x.pt", checkpoint({{"s", tensor}}, {{"x/data/0", bytes(64, '\0')}}));
        REQUIRE(outcome(file) == "ok");
        std::string all;
        for (const ztensor::object_view object : *file) {
            all += std::string(object.name()) + ":" + std::string(object.format().text()) + " ";
        }
        return all;
    };
    const auto part = [](const char* storage, const std::vector<std::uint64_t>& sizes) {
        std::vector<std::uint64_t> strides(sizes.size(), 1);
        return pickled_tensor(storage, "0", 8, sizes, strides);
    };
    const bytes longs = part("LongStorage", {1});
    const bytes values = part("LongStorage", {1}), coords = part("LongStorage", {1, 1});
    const bytes csr_parts = "s.crow_indices:dense s.col_indices:dense s.values:dense ";
    // By rows: one row and one column.
    const bytes pointers = part("LongStorage", {2});
    CHECK(names_of("torch.sparse_csr", {pointers, longs, values, pickled_tuple({1, 1})}) == "s:sparse_csr ");
    CHECK(names_of("torch.sparse_csr", {pointers, longs, values, pickled_tuple({1, 1, 1})}) == csr_parts);
    CHECK(names_of("torch.sparse_csr", {pointers, longs, values, pickled_tuple({1})}) == csr_parts);
    CHECK(names_of("torch.sparse_csr", {pointers, longs, coords, pickled_tuple({1, 1})}) == csr_parts);
    CHECK(names_of("torch.sparse_bsr", {pointers, longs, values, pickled_tuple({1, 1})}) == csr_parts);
    CHECK(names_of("torch.sparse_csc", {pointers, longs, values, pickled_tuple({1, 1})}) ==
          "s.ccol_indices:dense s.row_indices:dense s.values:dense ");
    // Coordinates: one of one dimension.
    const bytes coo_parts = "s.indices:dense s.values:dense ";
    CHECK(names_of("torch.sparse_coo", {coords, values, pickled_tuple({1})}) == "s:sparse_coo ");
    CHECK(names_of("torch.sparse_coo", {coords, values, pickled_tuple({})}) == coo_parts);
    CHECK(names_of("torch.sparse_coo", {coords, values, pickled_tuple({1, 1})}) == coo_parts);
    CHECK(names_of("torch.sparse_coo", {longs, values, pickled_tuple({1})}) == coo_parts);
    // Indices of other than 64 bits.
    const auto typed = [](const char* dtype, const std::vector<std::uint64_t>& sizes) {
        return pickled_call(pickled_global("torch._utils", "_rebuild_tensor_v3"),
                            {pickled_storage("UntypedStorage", "0", 64), pickled_number(0), pickled_tuple(sizes),
                             pickled_tuple(std::vector<std::uint64_t>(sizes.size(), 1)), "\x89", ")",
                             pickled_global("torch", dtype)});
    };
    CHECK(names_of("torch.sparse_csr", {typed("int64", {2}), typed("int64", {1}), typed("int64", {1}),
                                        pickled_tuple({1, 1})}) == "s:sparse_csr ");
    CHECK(names_of("torch.sparse_csr", {typed("int32", {2}), typed("int64", {1}), typed("int64", {1}),
                                        pickled_tuple({1, 1})}) == csr_parts);
    CHECK(names_of("torch.sparse_csr", {typed("int64", {2}), typed("int32", {1}), typed("int64", {1}),
                                        pickled_tuple({1, 1})}) == csr_parts);
    CHECK(names_of("torch.sparse_coo", {typed("int32", {1, 1}), typed("int64", {1}), pickled_tuple({1})}) == coo_parts);
}

TEST_CASE("an array of NumPy in a checkpoint is read where its type, shape and bytes are what NumPy pickles") {
    using namespace built_foreign;
    // A dtype by its text or its class, and the state that is set: a version and the order of bytes.
    const auto dtype = [](const bytes& type, const bytes& state) {
        return pickled_call(pickled_global("numpy", "dtype"), {type, "\x89", "\x88"}) + state +
               (state.empty() ? "" : "b");
    };
    const auto state_of_dtype = [](const char* order) {
        return tuple_of({pickled_number(3), pickled_text(order), "N", "N", "N"});
    };
    const auto array = [](const bytes& type, const bytes& shape, const bytes& order, const bytes& data,
                          bool has_version = true) {
        const bytes rebuilt =
            pickled_call(pickled_global("numpy.core.multiarray", "_reconstruct"),
                         {pickled_global("numpy", "ndarray"), pickled_tuple({0}), "C" + bytes("\1b", 2)});
        return rebuilt +
               (has_version ? tuple_of({pickled_number(1), shape, type, order, data})
                            : tuple_of({shape, type, order, data})) +
               "b";
    };
    const auto read = [&](const bytes& value) {
        const auto file =
            open_as("x.pt", checkpoint({{"a", value}, {"w", pickled_tensor("ByteStorage", "0", 1, {1}, {1})}},
                                       {{"x/data/0", "x"}}));
        REQUIRE(outcome(file) == "ok");
        if (!file->contains("a")) {
            return why_skipped(*file, "a");
        }
        const ztensor::component_view data = file->find("a")->data().value();
        return std::string(data.dtype().text()) + (data.is_big_endian() ? " big" : "");
    };
    const bytes f4 = dtype(pickled_text("f4"), state_of_dtype("<")), two = pickled_tuple({2});
    const bytes eight = "C" + bytes("\x08", 1) + bytes(8, '\1'), four = "C" + bytes("\x04", 1) + bytes(4, '\1');
    CHECK(read(array(f4, two, "\x89", eight)) == "f32");
    CHECK(read(array(f4, two, "\x88", eight)) == "f32"); // Fortran's order, of one dimension
    CHECK(read(array(f4, two, "N", eight)) == "f32");
    CHECK(read(array(f4, two, "\x89", eight, false)) == "f32");
    CHECK(read(array(f4, two, "\x89", pickled_text("abcdefgh"))) == "f32");
    CHECK(read(array(dtype(pickled_text("f4"), state_of_dtype(">")), two, "\x89", eight)) == "f32 big");
    const auto is_said_of = [&](const char* why, const bytes& value) {
        return read(value).find(why) != std::string::npos;
    };
    CHECK(is_said_of("no bytes or no shape", array(f4, two, "\x89", pickled_number(1))));
    CHECK(is_said_of("no bytes or no shape", array(f4, tuple_of({pickled_number(0xffffffff)}), "\x89", eight)));
    CHECK(is_said_of("no bytes or no shape", array(f4, "N", "\x89", eight)));
    CHECK(is_said_of("type is not known", array(dtype(pickled_number(4), {}), two, "\x89", eight)));
    CHECK(is_said_of("type is not known", array(pickled_text("f4"), two, "\x89", eight)));
    CHECK(is_said_of("bytes of an unknown meaning", array(dtype(pickled_text("V4"), {}), two, "\x89", eight)));
    CHECK(read(array(dtype(pickled_text("f4"), "}"), two, "\x89", eight)) == "f32"); // a state that says no order
    // Types of ml_dtypes stand for themselves, and their order counts if they have several bytes.
    const auto of_class = [&](const char* module, const char* name, const char* order) {
        return dtype(pickled_global(module, name), state_of_dtype(order));
    };
    CHECK(read(array(of_class("ml_dtypes", "bfloat16", "<"), two, "\x89", four)) == "bf16");
    CHECK(read(array(of_class("ml_dtypes", "bfloat16", ">"), two, "\x89", four)) == "bf16 big");
    CHECK(read(array(of_class("ml_dtypes", "float8_e5m2", ">"), pickled_tuple({4}), "\x89", four)) == "u8");
    CHECK(is_said_of("type is not known", array(of_class("ml_dtypes", "float99", ">"), two, "\x89", four)));
    CHECK(is_said_of("type is not known", array(of_class("other", "bfloat16", ">"), two, "\x89", four)));
}

TEST_CASE("names in a checkpoint are made of keys, and what has none is numbered") {
    using namespace built_foreign;
    const bytes w = pickled_tensor("ByteStorage", "0", 1, {1}, {1});
    const auto open_pickled = [&](const items& values) {
        return open_as("x.pt", checkpoint(values, {{"x/data/0", "x"}}));
    };
    // Items that are added to an object are numbered; what is shared has every name that leads to it.
    const bytes object = pickled_call(pickled_global("mine", "things"), {}) + "(" + w + w + "e";
    const auto numbered = open_pickled({{"o", object}});
    REQUIRE(outcome(numbered) == "ok");
    CHECK(numbered->contains("o.0"));
    CHECK(numbered->contains("o.1"));
    const auto shared = open_pickled({{"o", object + bytes("q\0", 2)}, {"p", bytes("h\0", 2)}});
    REQUIRE(outcome(shared) == "ok");
    CHECK(shared->contains("p.1"));
    // Keys that are tuples are printed, unless they hold what has no name, or more than a name may be long.
    const auto under = [&](const bytes& key) {
        return open_as("x.pt", archive({{"x/data.pkl", "\x80\x02}(" + key + w + pickled_text("v") + w + "u."},
                                        {"x/data/0", "x"}}));
    };
    const auto printed = under(tuple_of({pickled_text("a"), pickled_number(1)}));
    REQUIRE(outcome(printed) == "ok");
    CHECK(printed->contains("('a', 1)"));
    for (const bytes& key :
         {tuple_of({pickled_global("torch", "float32")}), tuple_of({tuple_of({pickled_text("a")}), "]"})}) {
        const auto file = under(key);
        REQUIRE(outcome(file) == "ok");
        CHECK(file->size() == 1);
        CHECK(file->skipped().size() == 1);
    }
    const bytes long_text = pickled_text(bytes(40'000, 'a'));
    const auto too_long = under(tuple_of({long_text, long_text}));
    REQUIRE(outcome(too_long) == "ok");
    CHECK(too_long->size() == 1);
    CHECK(too_long->skipped().size() == 1);
    CHECK(refusal(under(pickled_text(bytes(70'000, 'a')))) == errc::name_invalid);
}

TEST_CASE("a module of TorchScript is its state, but for what every module has") {
    using namespace built_foreign;
    const bytes w = pickled_tensor("ByteStorage", "0", 1, {1}, {1});
    const auto of_module = [&](const char* module) {
        const bytes state = "}(" + pickled_text("weight") + w + pickled_text("training") + "\x88" +
                            pickled_text("_is_full_backward_hook") + "N" + pickled_text("depth") + pickled_number(3) +
                            "u";
        return open_as("x.pt", checkpoint({{"m", pickled_call(pickled_global(module, "M"), {}) + state + "b"}},
                                          {{"x/data/0", "x"}}));
    };
    for (const char* const module : {"__torch__", "__torch__.nets"}) {
        const auto file = of_module(module);
        REQUIRE(outcome(file) == "ok");
        CHECK(file->contains("m.weight"));
        CHECK(file->attributes().integer("m.depth").value() == 3);
        CHECK_FALSE(file->attributes().contains("m.training"));
        CHECK_FALSE(file->attributes().contains("m._is_full_backward_hook"));
        CHECK(file->skipped().empty());
    }
    const auto other = of_module("__torch__x"); // a module that only begins so
    REQUIRE(outcome(other) == "ok");
    CHECK(other->contains("m.weight"));
    CHECK_FALSE(other->attributes().contains("m.depth"));
    CHECK(is_skipped_because(*other, "m", "not run"));
}

TEST_CASE("what JSON says of the weights of a program is of the kinds that torch.export writes, and whole") {
    using namespace built_foreign;
    const auto open_program = [](const bytes& payload) {
        return open_as(
            "x.pt2", archive({{"x/data/weights/w", bytes(8, '\1')},
                              {"x/data/weights/model_weights_config.json", "{\"config\":{\"a\":{" + payload + "}}}"}}));
    };
    const std::vector<std::pair<bytes, bytes>> fields_of_tensor = {{"dtype", "28"},
                                                                   {"sizes", "[{\"as_int\":4}]"},
                                                                   {"strides", "[{\"as_int\":1}]"},
                                                                   {"storage_offset", "{\"as_int\":0}"}};
    // One field of the tensor with another value; left out where that is empty.
    const auto with = [&](const char* field, const bytes& value) {
        bytes tensor;
        for (const auto& [name, usual] : fields_of_tensor) {
            const bytes& chosen = name == field ? value : usual;
            tensor += chosen.empty() ? "" : (tensor.empty() ? "\"" : ",\"") + name + "\":" + chosen;
        }
        return outcome(open_program("\"path_name\":\"w\",\"tensor_meta\":{" + tensor + "}"));
    };
    const auto file = open_program("\"path_name\":\"w\",\"tensor_meta\":{\"dtype\":28,\"sizes\":[{\"as_int\":4}],"
                                   "\"strides\":[{\"as_int\":1}],\"storage_offset\":{\"as_int\":0}}");
    REQUIRE(outcome(file) == "ok");
    CHECK(file->find("a")->data()->dtype() == ztensor::dtype::u16);
    CHECK(with("", "") == "ok");
    for (const char* const number : {"29", "30", "31", "32", "33"}) { // floats of 8 bits
        CHECK(with("dtype", number) == "ok");
    }
    CHECK(with("dtype", "34") == "out_of_bounds"); // u32, of which the entry has two
    CHECK(with("dtype", "36") == "unknown_dtype");
    CHECK(with("dtype", "14") == "unknown_dtype");
    for (const char* const kind : {"{}", "[]", "\"28\"", "null", "true", "1.5"}) {
        CAPTURE(kind);
        CHECK(with("dtype", kind) == "schema_type");
    }
    for (const char* const kind : {"{}", "1", "null", "[1]", "[[]]", "[{\"as_int\":{}}]", "[{\"as_int\":[]}]"}) {
        CAPTURE(kind);
        CHECK(with("sizes", kind) == "schema_type");
        CHECK(with("strides", kind) == "schema_type");
    }
    CHECK(with("sizes", "[{}]") == "schema_missing");
    CHECK(with("storage_offset", "0") == "schema_type");
    CHECK(with("storage_offset", "[]") == "schema_type");
    for (const char* const field : {"dtype", "sizes", "strides", "storage_offset"}) {
        CAPTURE(field);
        CHECK(with(field, "") == "schema_missing");
    }
    CHECK(refusal(open_program("\"tensor_meta\":null")) == errc::schema_missing);
    CHECK(refusal(open_program("\"path_name\":null,\"tensor_meta\":null")) == errc::schema_type);
    CHECK(refusal(open_program("\"path_name\":{},\"tensor_meta\":null")) == errc::schema_type);
    CHECK(refusal(open_program("\"path_name\":[],\"tensor_meta\":null")) == errc::schema_type);
    CHECK(outcome(open_program("\"path_name\":\"w\",\"tensor_meta\":null,\"other\":[{\"x\":[null]}]")) ==
          "pickle_refused"); // no tensor at all
}

TEST_CASE("a program of an older torch.export is an archive in an archive, under either ending") {
    using namespace built_foreign;
    const bytes inner = checkpoint({{"w", pickled_tensor("ByteStorage", "0", 1, {1}, {1})}}, {{"x/data/0", "x"}});
    for (const char* const ending : {"pt", "json"}) {
        const auto file = open_as("x.pt2", archive({{bytes("serialized_state_dict.") + ending, inner},
                                                    {bytes("serialized_constants.") + ending, ""}}));
        REQUIRE(outcome(file) == "ok");
        CHECK(file->read<std::uint8_t>("w").value() == std::vector<std::uint8_t>{'x'});
    }
    CHECK(refusal(open_as("x.pt2", archive({deflated("serialized_state_dict.pt", inner)}))) ==
          errc::unsupported_encoding);
    CHECK(refusal(open_as("x.pt2", archive({{"serialized_state_dict.pt", archive({{"y", "z"}})}}))) ==
          errc::schema_missing);
}

TEST_CASE("elements that are gathered stay within the limit of one call, and signs are those of the file's order") {
    using namespace built_foreign;
    const std::vector<std::uint64_t> sizes = {1, 40, 3}, strides = {1, 0, 200};
    const bytes content = support::counting(401);
    const bytes whole =
        checkpoint({{"w", pickled_tensor("ByteStorage", "0", 401, sizes, strides)}}, {{"x/data/0", content}});
    bytes expected;
    for (int i = 0; i < 40; ++i) {
        expected += {content[0], content[200], content[400]};
    }
    const auto file = open_as("x.pt", whole);
    REQUIRE(outcome(file) == "ok");
    CHECK(support::memory_of(file->read<std::byte>("w").value()) == expected);
    const auto limited = open_as("x.pt", whole, read_options().max_decoded_bytes(119));
    REQUIRE(outcome(limited) == "ok");
    CHECK(refusal(limited->read<std::byte>("w")) == errc::limit_exceeded);
    std::vector<std::byte> mine(120);
    CHECK(refusal(limited->read_into("w", mine)) == errc::limit_exceeded);
    // What lies a little apart is read at once, a window after the other.
    const bytes apart = support::counting(100 * 64);
    const auto watched = std::make_shared<support::watched_source>(
        checkpoint({{"w", pickled_tensor("ByteStorage", "0", 6400, {100}, {64})}}, {{"x/data/0", apart}}));
    const auto by_windows = open_any(watched, "x.pt");
    REQUIRE(outcome(by_windows) == "ok");
    bytes every_64th;
    for (std::size_t i = 0; i < 100; ++i) {
        every_64th += apart[64 * i];
    }
    watched->reads.clear();
    CHECK(support::memory_of(by_windows->read<std::byte>("w").value()) == every_64th);
    CHECK(watched->reads.size() == 2);
    // Negated, in either order.
    for (const char* const order : {"little", "big"}) {
        const bytes negated =
            pickled_call(pickled_global("torch._utils", "_rebuild_tensor_v2"),
                         {pickled_storage("FloatStorage", "0", 1), pickled_number(0), pickled_tuple({1}),
                          pickled_tuple({1}), "\x89", ")", "}" + pickled_text("neg") + "\x88s"});
        const bytes one = bytes(order) == "big" ? bytes("\x3f\x80\0\0", 4) : bytes("\0\0\x80\x3f", 4);
        const auto of_order =
            open_as("x.pt", checkpoint({{"w", negated}}, {{"x/byteorder", order}, {"x/data/0", one}}));
        REQUIRE(outcome(of_order) == "ok");
        CHECK(of_order->read<float>("w").value() == std::vector<float>{-1});
    }
}

TEST_CASE("coordinates of a sparse tensor are made within the limit of one call") {
    using namespace built_foreign;
    const bytes values = onnx_tensor({2}, f32_in_onnx, field(9, bytes(8, '\0')));
    const bytes indices = onnx_tensor({2}, i64_in_onnx, field(9, little_endian(1, 8) + little_endian(3, 8)), "i");
    const auto outcome_within = [&](std::uint64_t limit) {
        const auto file = open_as("x.onnx", sparse({4}, values, indices), read_options().max_decoded_bytes(limit));
        REQUIRE(outcome(file) == "ok");
        return outcome(file->find("w")->component("coords")->read<std::uint64_t>());
    };
    CHECK(outcome_within(32) == "ok");
    CHECK(outcome_within(31) == "limit_exceeded");
    CHECK(outcome_within(15) == "limit_exceeded");
}

TEST_CASE("a pickle is one of torch.save if its first number is PyTorch's, right behind its head") {
    using namespace built_foreign;
    const bytes magic = "l\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", rest(100, '.');
    const auto outcome_of = [&](const bytes& front) { return outcome(open_as("x.bin", front + magic + rest)); };
    CHECK(outcome_of("\x80\x02\x8a\x0a") == "pickle_malformed"); // taken for one, which it is not
    for (const bytes& front : {bytes(), bytes("\x0a"), bytes("\x8a\x0b"), bytes("\x8b\x0a"), bytes(14, '\x8a')}) {
        CAPTURE(support::to_hex(support::bytes_of(front)));
        CHECK(outcome_of(front) == "bad_magic");
    }
}

TEST_CASE("a name whose hash is 0 is met once, like any other") {
    const std::string_view hashes_to_0 = "\xd5\x6b\xb9\x53\x42\x87\x08\x36"; // by FNV-1a of 64 bits
    ztensor::detail::name_hashes names;
    CHECK(names.insert(hashes_to_0));
    CHECK_FALSE(names.insert(hashes_to_0));
    CHECK(names.insert("other"));
    CHECK_FALSE(names.insert("other"));
}

TEST_CASE("what an importer says of objects is judged as an index is, word by word") {
    using namespace built_foreign;
    namespace detail = ztensor::detail;
    namespace cbor = support::cbor;
    struct draft_words {
        bytes name = cbor::text("w"), shape = cbor::numbers({1}), format = cbor::text("dense"), attributes = {};
        bytes role = cbor::text("data"), dtype = cbor::text("u8"), type = {}, digest = {};
        std::uint32_t parts = 1;
    };
    const auto outcome_of = [](const draft_words& words) {
        bytes items(1, '\0');
        const auto put = [&](const bytes& item) {
            const auto position = static_cast<std::uint32_t>(items.size());
            items += item;
            return item.empty() ? detail::index_item() : detail::index_item{position};
        };
        detail::model_draft draft;
        detail::object_record object;
        object.name = put(words.name);
        object.shape = put(words.shape);
        object.format_word = put(words.format);
        object.attributes = put(words.attributes);
        object.has_attributes = !words.attributes.empty();
        object.first_component = static_cast<std::uint32_t>(draft.components.extend(words.parts));
        object.component_count = words.parts;
        for (std::uint32_t i = 0; i < words.parts; ++i) {
            detail::component_record part;
            part.offset = 64;
            part.length = 1;
            part.role = put(words.role);
            part.dtype_word = put(words.dtype);
            part.type_word = put(words.type);
            part.digest_text = put(words.digest);
            draft.components[object.first_component + i] = part;
        }
        draft.objects.push_back(object);
        REQUIRE(draft.items.allocate(items.size(), detail::scan_reach_bytes));
        std::copy(support::bytes_of(items).begin(), support::bytes_of(items).end(), draft.items.data());
        detail::manifest into;
        into.container = ztensor::container_kind::npy;
        return outcome(detail::take_draft(into, std::move(draft), read_options().max_components_per_object(2)));
    };
    const auto with = [&](bytes draft_words::*word, const bytes& value) {
        draft_words words;
        words.*word = value;
        return outcome_of(words);
    };
    const bytes no_utf8 = cbor::text("\xff");
    CHECK(outcome_of({}) == "ok");
    for (bytes draft_words::*const word : {&draft_words::name, &draft_words::format, &draft_words::role,
                                           &draft_words::dtype, &draft_words::type, &draft_words::digest}) {
        CHECK(with(word, no_utf8) == "cbor_utf8");
        CHECK(with(word, cbor::number(1)) == "schema_type");
        CHECK(with(word, cbor::chunked({"w", "x"})) == "ok");
    }
    CHECK(with(&draft_words::name, cbor::text(std::string_view("a\0b", 3))) == "name_invalid");
    CHECK(with(&draft_words::shape, cbor::numbers(std::vector<std::uint64_t>(65, 1))) == "limit_exceeded");
    CHECK(with(&draft_words::shape, cbor::numbers({std::uint64_t{1} << 63, 2})) == "shape_overflow");
    CHECK(with(&draft_words::attributes, cbor::map{{"k", cbor::number(1)}}) == "ok");
    CHECK(with(&draft_words::attributes, cbor::map().add(cbor::text("k"), cbor::null).add(cbor::text("k"), cbor::no)) ==
          "duplicate_key");
    CHECK(with(&draft_words::attributes, cbor::numbers({1})) == "schema_type");
    draft_words words;
    words.parts = 2;
    CHECK(outcome_of(words) == "ok");
    words.parts = 3;
    CHECK(outcome_of(words) == "limit_exceeded");
}

TEST_CASE("elements of a checkpoint are as wide as PyTorch's dtype says") {
    using namespace built_foreign;
    const std::pair<const char*, std::uint64_t> dtypes[] = {
        {"float64", 8},     {"float32", 4},       {"float16", 2},     {"bfloat16", 2},        {"int64", 8},
        {"int32", 4},       {"int16", 2},         {"int8", 1},        {"uint64", 8},          {"uint32", 4},
        {"uint16", 2},      {"uint8", 1},         {"bool", 1},        {"complex32", 4},       {"complex64", 8},
        {"complex128", 16}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1}, {"float8_e4m3fnuz", 1}, {"float8_e5m2fnuz", 1},
        {"qint8", 1},       {"quint8", 1},        {"qint32", 4},      {"float8_e8m0fnu", 1}};
    for (const auto& [dtype, width] : dtypes) {
        CAPTURE(dtype);
        const auto outcome_of = [&, name = dtype](std::uint64_t storage_bytes) {
            const bytes tensor =
                pickled_call(pickled_global("torch._utils", "_rebuild_tensor_v3"),
                             {pickled_storage("UntypedStorage", "0", storage_bytes), pickled_number(0),
                              pickled_tuple({3}), pickled_tuple({1}), "\x89", ")", pickled_global("torch", name)});
            return open_as("x.pt", checkpoint({{"w", tensor}},
                                              {{"x/data/0", bytes(static_cast<std::size_t>(storage_bytes), '\1')}}));
        };
        const auto file = outcome_of(3 * width);
        REQUIRE(outcome(file) == "ok");
        CHECK(file->find("w")->data()->stored_bytes() == 3 * width);
        CHECK(refusal(outcome_of(3 * width - 1)) == errc::out_of_bounds);
    }
}

TEST_CASE("a checkpoint whose tensors stand in very many places is refused") {
    using namespace built_foreign;
    const auto open_shared = [](std::size_t count) { // a list of so many, under 20 names
        items values = {{"a", "](" + pickled_tensor("ByteStorage", "0", 1, {1}, {1}) +
                                  support::repeated(count, bytes("K\0", 2)) + "eq\1"}};
        for (char key = 'b'; key <= 't'; ++key) {
            values.emplace_back(bytes(1, key), "h\1");
        }
        return outcome(open_as("x.pt", checkpoint(values, {{"x/data/0", "x"}})));
    };
    CHECK(open_shared(100) == "ok");
    CHECK(open_shared(2000) == "limit_exceeded");
}

TEST_CASE("elements of four bits of a model take half a byte each") {
    using namespace built_foreign;
    constexpr unsigned f4_in_onnx = 23;
    const auto outcome_of = [](std::size_t size) {
        return outcome(open_as("x.onnx", model_of(onnx_tensor({5}, f4_in_onnx, field(9, bytes(size, '\1'))))));
    };
    CHECK(outcome_of(3) == "ok");
    CHECK(outcome_of(2) != "ok");
    CHECK(outcome_of(4) != "ok");
}

TEST_CASE("the ZIP64 record at an archive's end is one, and says what the other end says") {
    using namespace built_foreign;
    const bytes plain = archive({{"a.npy", npy_of("|u1", "(1,)", "x")}});
    const bytes body = plain.substr(0, plain.size() - 22), end = plain.substr(plain.size() - 22);
    const std::uint64_t directory = ztensor::detail::load_little(support::bytes_of(end).data() + 16, 4),
                        directory_bytes = ztensor::detail::load_little(support::bytes_of(end).data() + 12, 4);
    const auto outcome_of = [&](const bytes& magic, std::uint64_t count, std::uint64_t size, std::uint64_t begin) {
        const bytes record = magic + little_endian(44, 8) + bytes("\x2d\0\x2d\0", 4) + bytes(8, '\0') +
                             little_endian(count, 8) + little_endian(count, 8) + little_endian(size, 8) +
                             little_endian(begin, 8);
        const bytes locator = "PK\6\7" + bytes(4, '\0') + little_endian(body.size(), 8) + little_endian(1, 4);
        return outcome(open_as("x.npz", body + record + locator + end));
    };
    CHECK(outcome_of("PK\6\6", 1, directory_bytes, directory) == "ok");
    CHECK(outcome_of("PK\6\5", 1, directory_bytes, directory) == "zip_malformed");
    CHECK(outcome_of("PK\6\6", 2, directory_bytes, directory) == "zip_malformed");
    CHECK(outcome_of("PK\6\6", 1, directory_bytes + 1, directory) == "zip_malformed");
    CHECK(outcome_of("PK\6\6", 1, directory_bytes, directory + 1) == "zip_malformed");
}

TEST_CASE("a checkpoint is nested to 1024 levels, its root among them") {
    using namespace built_foreign;
    const bytes w = pickled_tensor("ByteStorage", "0", 1, {1}, {1});
    const auto nested_in = [&](std::size_t lists) {
        const bytes value = bytes(lists, ']') + w + bytes(lists, 'a');
        return outcome(open_as("x.pt", checkpoint({{"k", value}}, {{"x/data/0", "x"}})));
    };
    CHECK(nested_in(1023) == "ok");
    CHECK(nested_in(1024) == "pickle_malformed");
}

TEST_CASE("an index that outgrows its limit is refused, however short what it was made of is") {
    using namespace built_foreign;
    items many = {{"a", pickled_tensor("ByteStorage", "0", 4, {4}, {1}) + bytes("q\0", 2)}};
    for (char name = 'b'; name <= 'z'; ++name) {
        many.emplace_back(bytes(1, name), bytes("h\0", 2));
    }
    const bytes content = checkpoint(many, {{"x/data/0", "abcd"}});
    REQUIRE(dictionary(many).size() < 600);
    CHECK(outcome(open_as("x.pt", content)) == "ok");
    CHECK(refusal(open_as("x.pt", content, read_options().max_manifest_bytes(600))) == errc::manifest_too_large);
    bytes graph;
    for (char name = 'a'; name <= 'z'; ++name) {
        graph += field(5, onnx_tensor({1}, f32_in_onnx, field(9, "abcd"), bytes(1, name)));
    }
    CHECK(outcome(open_as("x.onnx", model(graph))) == "ok");
    CHECK(refusal(open_as("x.onnx", model(graph), read_options().max_manifest_bytes(600))) == errc::manifest_too_large);
}

TEST_CASE("numbers of a model may stand in several pieces, of one field and one kind") {
    using namespace built_foreign;
    const bytes one = little_endian(0x3f800000, 4), two = little_endian(0x40000000, 4);
    const auto numbers = [](const bytes& content) {
        const auto file = open_as("x.onnx", content);
        if (!file) {
            return outcome(file);
        }
        const auto read = file->read<float>("w");
        return read ? support::memory_of(*read) : outcome(read);
    };
    const std::vector<std::uint64_t> shape = {2};
    const bytes expected = support::memory_of(std::vector<float>{1, 2});
    CHECK(numbers(model_of(onnx_tensor(shape, f32_in_onnx, field(4, one + two)))) == expected);
    CHECK(numbers(model_of(onnx_tensor(shape, f32_in_onnx, field(4, one) + field(4, "") + field(4, two)))) == expected);
    CHECK(numbers(model_of(onnx_tensor(shape, f32_in_onnx, field(4, one) + field(5, "\1") + field(7, "\2")))) ==
          "header_malformed");
    CHECK(numbers(model_of(onnx_tensor({0}, f32_in_onnx, field(4, "")))).empty());
    CHECK(numbers(model_of(onnx_tensor({0}, f32_in_onnx, field(4, one)))) == "size_mismatch");
}

TEST_CASE("where external data lies is told by numbers") {
    using namespace built_foreign;
    const support::temp_dir folder;
    support::write_file(folder / "data", "abcd");
    const auto opened = [&](const bytes& offset) {
        const bytes entries =
            field(13, field(1, "location") + field(2, "data")) + field(13, field(1, "offset") + field(2, offset));
        support::write_file(folder / "x.onnx", model_of(onnx_tensor({1}, f32_in_onnx, entries + field(14, 1))));
        return outcome(open_any(folder / "x.onnx"));
    };
    CHECK(opened("0") == "ok");
    CHECK(opened("1") == "out_of_bounds");
    CHECK(opened("") == "header_malformed");
    CHECK(opened("x") == "header_malformed");
    CHECK(opened("99999999999999999999") == "header_malformed");
}

TEST_CASE("data does not lie in a file whose name is longer than any, or leads away") {
    using namespace built_foreign;
    const auto opened = [&](const bytes& location) {
        const bytes entries = field(13, field(1, "location") + field(2, location));
        return refusal(open_as("x.onnx", model_of(onnx_tensor({1}, f32_in_onnx, entries + field(14, 1)))));
    };
    for (const bytes& location :
         {bytes(70000, 'n'), bytes("/data"), bytes("../data"), bytes("a/../data"), bytes("c:data")}) {
        CHECK(opened(location) == errc::name_invalid);
    }
}

TEST_CASE("sparse tensors of a model whose parts do not fit are refused, or read as what lies nowhere") {
    using namespace built_foreign;
    const bytes values = onnx_tensor({1}, f32_in_onnx, field(9, "abcd"));
    const auto index = [](const std::vector<std::uint64_t>& shape, std::uint64_t value) {
        return onnx_tensor(shape, i64_in_onnx, field(9, little_endian(value, 8)), "i");
    };
    const auto coords = [](const bytes& content, const read_options& options = {}) {
        const auto file = open_as("x.onnx", content, options);
        if (!file) {
            return outcome(file);
        }
        const auto part = (*file->begin()).component("coords").value();
        std::vector<std::byte> found(static_cast<std::size_t>(part.stored_bytes()));
        const auto read = part.read_stored_into(found);
        return read ? support::memory_of(found) : outcome(read);
    };
    CHECK(coords(sparse({2, 3}, values, index({1}, 4))) == little_endian({1, 1}, 8));
    CHECK(coords(sparse({2, 3}, values, index({1}, 4)), read_options().max_decoded_bytes(7)) == "limit_exceeded");
    CHECK(coords(sparse({2, 0}, values, index({1}, 4))) == little_endian({4, 4}, 8));
    CHECK(coords(sparse(std::vector<std::uint64_t>(65, 1), values, index({1}, 0))) == "header_malformed");
    CHECK(coords(sparse({2, 3}, values, onnx_tensor({1}, i64_in_onnx, field(9, "abcd"), "i"))) == "size_mismatch");
    CHECK(coords(sparse({2, 3}, onnx_tensor({1}, f32_in_onnx, field(9, "abc")), index({1}, 4))) == "size_mismatch");
}

TEST_CASE("a source that fails within a long name of a model ends the opening with its error") {
    using namespace built_foreign;
    const auto source = std::make_shared<support::watched_source>(
        model_of(onnx_tensor({1}, f32_in_onnx, field(9, "abcd"), bytes(600000, 'n'))));
    std::size_t failed = 0;
    for (bool is_failing = true; is_failing && failed < 100; failed += is_failing ? 1 : 0) {
        source->first_failing_read = source->reads.size() + failed;
        const refusal found(open_any(source, "x.onnx"));
        is_failing = source->reads.size() > source->first_failing_read;
        CAPTURE(failed);
        CHECK(found == (is_failing ? errc::io_error : errc::name_invalid));
    }
    CHECK(failed > 2);
}

TEST_CASE("what is wrong with a header of safetensors is told, be it written plainly or not") {
    using namespace built_foreign;
    const auto opened = [](const bytes& header, const bytes& data = "12345678") {
        return outcome(open_as("x.safetensors", support::safetensors_file(header, data)));
    };
    const auto with = [](const bytes& dtype, const bytes& shape, const bytes& offsets, const bytes& more = {}) {
        return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + more + "}}";
    };
    CHECK(opened(with("\"F32\"", "[2]", "[0,8]")) == "ok");
    CHECK(opened(with("\"F32\"", "[2]", "[0,8]", R"(,"more":[[{"a":null}],true])")) == "ok");
    CHECK(opened(with("\"F32\"", "[2]", "[0,8]", R"(,"more":[[[[[[[[[[1]]]]]]]]]])")) == "ok"); // deeper than is plain
    CHECK(opened(with("{}", "[2]", "[0,8]")) == "schema_type");
    CHECK(opened(with("[]", "[2]", "[0,8]")) == "schema_type");
    CHECK(opened(with("true", "[2]", "[0,8]")) == "schema_type");
    CHECK(opened(with("null", "[2]", "[0,8]")) == "schema_type");
    CHECK(opened(R"({"w":null})") == "schema_type");
    CHECK(opened(R"({"__metadata__":null,"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})") == "ok");
    for (const char* const broken : {"{", "{\"w\"", "{\"w", "{\"w\" 1}", "{\"w\":", "{w:1}"}) {
        CAPTURE(broken);
        CHECK(opened(broken) == "json_malformed");
    }
    CHECK(opened(with("\"F32\"", "[02]", "[0,8]")) == "json_malformed");
    CHECK(opened(with("\"F32\"", "[20000000000000000000]", "[0,8]")) == "schema_type"); // not 64 bits
    CHECK(opened(with("\"F4\"", "[16]", "[0,8]")) == "ok");
    CHECK(opened(with("\"F4\"", "[15]", "[0,8]")) == "size_mismatch");
    CHECK(opened(with("\"F4\"", "[4611686018427387904]", "[0,8]")) == "size_mismatch");
    CHECK(opened(with("\"F4\"", "[4611686018427387904,4611686018427387904]", "[0,8]")) == "shape_overflow");
    const bytes empty =
        R"(,"x":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})"; // within another, where nothing lies
    CHECK(opened(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})" + empty) == "ok");
}

TEST_CASE("of a set of files all that is wrong is told, as far as anyone will read") {
    using namespace built_foreign;
    using ztensor::reader;
    const auto of = [](const char* name) {
        return open_as("1.safetensors", support::safetensors_file({{name, {1}}})).value();
    };
    CHECK(refusal(reader::join({of("a"), of("a")})) == errc::duplicate_key);
    const reader set = reader::join({of("a"), of("b")}).value();
    std::vector<float> into(1);
    ztensor::load_plan one(set);
    one.add("b", into);
    CHECK(outcome(one.run()) == "ok"); // of the other file nothing
    const auto cancel = [](const ztensor::load_progress&) { return false; };
    CHECK(refusal(one.run(ztensor::load_options().threads(1).progress(cancel))) == errc::cancelled);
    ztensor::load_plan plan(set);
    plan.add_as("c", into).add("d", ztensor::rows(0, 1), into);
    for (int i = 0; i < 150; ++i) {
        plan.add(std::to_string(i), into);
    }
    const auto missing = plan.run();
    REQUIRE(refusal(missing) == errc::object_not_found);
    CHECK(missing.error().what().find("152 of 152 tensors") != std::string::npos);
    CHECK(missing.error().what().find("and 52 more") != std::string::npos);
    const support::temp_dir folder;
    CHECK(refusal(ztensor::open_any(folder / "nowhere")) == errc::file_not_found);
    support::write_file(folder / "x.safetensors", "broken");
    CHECK_FALSE(ztensor::open_any(folder / "x.safetensors" / "y")); // below what is no folder
    const auto broken = ztensor::open_any(folder.path());
    REQUIRE_FALSE(broken);
    CHECK(broken.error().path().find("x.safetensors") != std::string::npos);
}

TEST_CASE("many views of one deflated storage inflate it once, within the limit of one call") {
    using namespace built_foreign;
    constexpr std::size_t elements = 15000; // in 60,000 bytes
    bytes storage(elements * 4, '\0');
    storage[2] = '\x80'; // 1.0, first and last
    storage[3] = '\x3f';
    storage.replace(storage.size() - 4, 4, storage.substr(0, 4));
    items views;
    for (int i = 0; i < 200; ++i) { // the first element and the last
        views.emplace_back(std::to_string(i), pickled_tensor("FloatStorage", "0", elements, {2}, {elements - 1}));
    }
    const bytes file = checkpoint(views, {deflated("x/data/0", storage)});
    const auto read_with = [&](std::uint64_t limit, int count) {
        const auto source = std::make_shared<support::watched_source>(file);
        const auto from = ztensor::open_any(source, "x.pt", ztensor::read_options().max_decoded_bytes(limit)).value();
        source->reads.clear();
        std::string last = "nothing";
        for (int i = 0; i < count; ++i) {
            const auto read = from.read<float>(std::to_string(i));
            last = outcome(read);
            CHECK((!read || *read == std::vector<float>{1, 1}));
        }
        std::uint64_t bytes_read = 0;
        for (const support::read_range& each : source->reads) {
            bytes_read += each.length;
        }
        CHECK(bytes_read < storage.size() + 1000); // what was stored of it, once
        return last;
    };
    CHECK(read_with(storage.size() + 8, 200) == "ok");
    CHECK(read_with(storage.size() + 7, 1) == "limit_exceeded"); // of which 8 are the view's own
}

TEST_CASE("elements that lie far apart in a storage are read without what lies between") {
    using namespace built_foreign;
    constexpr std::size_t elements = 100000;
    bytes storage(elements * 4, '\0');
    storage[2] = '\x80';
    storage[3] = '\x3f';
    storage.replace(storage.size() - 4, 4, storage.substr(0, 4));
    const bytes file = checkpoint({{"far", pickled_tensor("FloatStorage", "0", elements, {2, 2}, {0, elements - 1})},
                                   {"near", pickled_tensor("FloatStorage", "0", elements, {elements / 8}, {8})}},
                                  {{"x/data/0", storage}});
    const auto source = std::make_shared<support::watched_source>(file);
    const auto from = ztensor::open_any(source, "x.pt").value();
    source->reads.clear();
    CHECK(from.read<float>("far").value() == std::vector<float>{1, 1, 1, 1});
    std::uint64_t bytes_read = 0;
    for (const support::read_range& each : source->reads) {
        bytes_read += each.length;
    }
    CHECK(bytes_read <= 4 * 4096);
    source->reads.clear();
    CHECK(from.read<float>("near").value().front() == 1);
    CHECK(source->reads.size() < 10); // at once
    source->first_failing_read = 0;
    CHECK(refusal(from.read<float>("far")) == errc::io_error);
}

TEST_CASE("data beside a model is found where the model lies, if it is opened by its name alone") {
    using namespace built_foreign;
    const support::temp_dir folder;
    std::filesystem::create_directory(folder / "blobs");
    support::write_file(folder / "blobs" / "1", "abcd");
    const bytes entries = field(13, field(1, "location") + field(2, "data"));
    support::write_file(folder / "x.onnx", model_of(onnx_tensor({1}, f32_in_onnx, entries + field(14, 1))));
    std::error_code ignored;
    std::filesystem::create_symlink("x.onnx.data", folder / "data", ignored);
    if (ignored) {
        return; // where links can't be made
    }
    support::write_file(folder / "x.onnx.data", "abcd");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    const auto found = open_any("x.onnx");
    std::filesystem::remove("data");
    std::filesystem::create_symlink("blobs/1", "data", ignored);
    const auto elsewhere = open_any("x.onnx");
    std::filesystem::current_path(before);
    CHECK(outcome(found) == "ok");
    CHECK(refusal(elsewhere) == errc::name_invalid);
}
