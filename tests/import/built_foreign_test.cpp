// SPDX-License-Identifier: MIT
//
// Files of other formats put together byte by byte, as no package writes them but a hostile or a careless one may:
// headers at the edge of what they may say, values of every kind, archives whose records say else than their entries.
#include "import/foreign_files.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/protobuf.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"

#include <ztensor/import.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
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
};

bytes archive(const std::vector<zip_entry>& entries, std::size_t count_more = 0) {
    bytes all, directory;
    for (const zip_entry& each : entries) {
        const bytes numbers = little_endian(each.crc, 4) + little_endian(each.stored.size(), 4) +
                              little_endian(each.size, 4) + little_endian(each.name.size(), 2) + bytes(2, '\0');
        const bytes common = bytes("\x14\0", 2) + little_endian(each.flags, 2) + little_endian(each.method, 2) +
                             bytes(4, '\0') + numbers;
        directory +=
            "PK\1\2" + bytes("\x14\0", 2) + common + bytes(10, '\0') + little_endian(all.size(), 4) + each.name;
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
    zip_entry streamed = good;
    streamed.flags = 8;
    streamed.behind = little_endian(streamed.crc, 4) + little_endian(array.size(), 4) + little_endian(array.size(), 4);
    CHECK(opened(archive({streamed})) == "ok");
    streamed.behind = "PK\7\x08" + little_endian(streamed.crc, 4) + little_endian(array.size(), 4); // cut off
    CHECK(opened(archive({streamed})) == "zip_malformed");
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
