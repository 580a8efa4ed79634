// SPDX-License-Identifier: MIT
//
// Writing: what goes in comes out, whole files byte for byte, what is refused before anything is written, and what is
// left behind when a file can't be finished.
#include "support/catch.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/float_types.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using support::temp_dir;
using support::to_vector;
using ztensor::attributes;
using ztensor::byte_sink;
using ztensor::bytes_view;
using ztensor::digest;
using ztensor::dtype;
using ztensor::errc;
using ztensor::error;
using ztensor::format;
using ztensor::format_version;
using ztensor::io_mode;
using ztensor::object_draft;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
using ztensor::span;
using ztensor::store;
using ztensor::tensor_stream;
using ztensor::write_options;
using ztensor::writer;

using byte_vector = std::vector<std::byte>;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

/// The name of the code, or "ok".
template <class T>
std::string outcome(const result<T>& answer) {
    return answer ? "ok" : std::string(name(answer.error().code()));
}

/// Bytes from hexadecimal digits; spaces count for nothing.
byte_vector from_hex(std::string_view hex) {
    byte_vector bytes;
    unsigned digits = 0;
    unsigned value = 0;
    for (const char c : hex) {
        if (c == ' ') {
            continue;
        }
        value = value * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
        if (++digits % 2 == 0) {
            bytes.push_back(static_cast<std::byte>(value));
            value = 0;
        }
    }
    return bytes;
}

/// For comparisons whose failures can be read.
std::string to_hex(bytes_view bytes) {
    std::string hex;
    for (const std::byte byte : bytes) {
        hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
        hex += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 15];
    }
    return hex;
}

std::string without_spaces(std::string hex) {
    hex.erase(std::remove(hex.begin(), hex.end(), ' '), hex.end());
    return hex;
}

/// A file in memory: what `fill(writer&)` puts into it.
template <class Fill>
byte_vector written(const write_options& options, Fill&& fill) {
    writer out = writer::to_memory(options).value();
    fill(out);
    out.finish().value();
    return out.take_bytes();
}

template <class Fill>
reader reopened(const write_options& options, Fill&& fill) {
    return reader::from_bytes(written(options, std::forward<Fill>(fill))).value();
}

/// Bytes that look random and are the same every time.
byte_vector noise(std::size_t count, std::uint32_t seed = 1) {
    byte_vector bytes;
    for (std::uint32_t state = seed; bytes.size() < count;) {
        state = state * 1664525u + 1013904223u;
        bytes.push_back(static_cast<std::byte>(state >> 24));
    }
    return bytes;
}

/// Elements of any bit pattern.
template <class T>
std::vector<T> some_elements(std::size_t count) {
    const byte_vector bytes = noise(count * sizeof(T));
    std::vector<T> elements(count);
    std::memcpy(static_cast<void*>(elements.data()), bytes.data(), bytes.size());
    return elements;
}

template <class T>
byte_vector bytes_in_memory(span<const T> elements) {
    byte_vector bytes(elements.size_bytes());
    if (!bytes.empty()) {
        std::memcpy(bytes.data(), elements.data(), bytes.size());
    }
    return bytes;
}

/// Elements as they must stand in a file: every `width` bytes least significant first.
template <class T>
byte_vector bytes_in_file(const std::vector<T>& elements, std::size_t width) {
    byte_vector bytes = bytes_in_memory(span<const T>(elements));
    const std::uint16_t one = 1;
    unsigned char first_byte = 0;
    std::memcpy(&first_byte, &one, 1);
    if (first_byte != 1) {
        for (std::size_t at = 0; at < bytes.size(); at += width) {
            std::reverse(bytes.data() + at, bytes.data() + at + width);
        }
    }
    return bytes;
}

/// dtype and logical type of an element type, by the words of the specification.
template <class T>
std::pair<std::string, std::string> words_of() {
    if constexpr (std::is_same_v<T, float>) {
        return {"f32", ""};
    } else if constexpr (std::is_same_v<T, double>) {
        return {"f64", ""};
    } else if constexpr (std::is_same_v<T, ztensor::float16>) {
        return {"f16", ""};
    } else if constexpr (std::is_same_v<T, ztensor::bfloat16>) {
        return {"bf16", ""};
    } else if constexpr (std::is_same_v<T, ztensor::float8_e4m3fn>) {
        return {"u8", "f8_e4m3fn"};
    } else if constexpr (std::is_same_v<T, ztensor::float8_e5m2>) {
        return {"u8", "f8_e5m2"};
    } else if constexpr (std::is_same_v<T, ztensor::float8_e4m3fnuz>) {
        return {"u8", "f8_e4m3fnuz"};
    } else if constexpr (std::is_same_v<T, ztensor::float8_e5m2fnuz>) {
        return {"u8", "f8_e5m2fnuz"};
    } else if constexpr (std::is_same_v<T, std::complex<float>>) {
        return {"f32", "complex64"};
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
        return {"f64", "complex128"};
    } else {
        return {(std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T)), ""};
    }
}

template <class T>
void check_tensor(const reader& file, std::string_view name, const shape& dimensions, const std::vector<T>& elements) {
    CAPTURE(std::string(name));
    const ztensor::object_view object = file.find(name).value();
    CHECK(object.shape() == dimensions);
    CHECK(object.known_format() == format::dense);
    CHECK(object.size() == 1);
    const ztensor::component_view data = object.data().value();
    CHECK(std::string(data.dtype_name()) == words_of<T>().first);
    CHECK(std::string(data.type()) == words_of<T>().second);
    const std::vector<T> read = data.read<T>().value();
    CHECK(bytes_in_memory(span<const T>(read)) == bytes_in_memory(span<const T>(elements)));
    if (data.encoding() == ztensor::encoding::raw) {
        byte_vector stored(static_cast<std::size_t>(data.stored_bytes()));
        data.read_stored_into(stored).value();
        CHECK(stored == bytes_in_file(elements, width_bytes(*data.dtype())));
    }
}

struct sink_log {
    byte_vector content;
    std::size_t writes = 0;
    bool is_published = false;
    bool is_gone = false;
    bool has_failed = false;
    std::size_t calls_after_failure = 0;
};

/// Notes everything, and fails when it is told to.
class scripted_sink final : public byte_sink {
public:
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    explicit scripted_sink(sink_log& log, std::size_t failing_write = never, bool fails_to_finish = false)
        : log_(log), failing_write_(failing_write), fails_to_finish_(fails_to_finish) {}
    ~scripted_sink() override { log_.is_gone = true; }

    result<void> write(bytes_view bytes) override {
        log_.calls_after_failure += log_.has_failed ? 1 : 0;
        if (log_.writes++ == failing_write_) {
            log_.has_failed = true;
            return error(errc::io_error, "the disk is full");
        }
        log_.content.insert(log_.content.end(), bytes.begin(), bytes.end());
        return {};
    }

    result<void> finish() override {
        log_.calls_after_failure += log_.has_failed ? 1 : 0;
        if (fails_to_finish_) {
            log_.has_failed = true;
            return error(errc::io_error, "the rename failed");
        }
        log_.is_published = true;
        return {};
    }

private:
    sink_log& log_;
    std::size_t failing_write_;
    bool fails_to_finish_;
};

const std::vector<float> four_floats = {1, 2, 3, 4};
const std::vector<std::uint64_t> indptr_of_two_rows = {0, 1, 3};
const std::vector<std::uint64_t> three_indices = {1, 0, 2};

} // namespace

// -- what goes in comes out

TEMPLATE_TEST_CASE("elements of every type come back as they were", "", float, double, std::int8_t, std::int16_t,
                   std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, long,
                   unsigned long, long long, unsigned long long, ztensor::float16, ztensor::bfloat16,
                   ztensor::float8_e4m3fn, ztensor::float8_e5m2, ztensor::float8_e4m3fnuz, ztensor::float8_e5m2fnuz,
                   std::complex<float>, std::complex<double>) {
    const temp_dir directory;
    const std::vector<TestType> elements = some_elements<TestType>(24);
    const std::array<TestType, 3> array = {elements[0], elements[1], elements[2]};
    const auto fill = [&](writer& out) {
        out.add("vector", {4, 3, 2}, elements).value();
        out.add("span", {5}, span<const TestType>(elements).subspan(3, 5)).value();
        out.add("array", {1, 3}, array).value();
        out.add("scalar", {}, std::vector<TestType>{elements[7]}).value();
        out.add("empty", {2, 0}, std::vector<TestType>()).value();
        out.add("compressed", {24}, elements, store().zstd()).value();
    };
    const auto check = [&](const reader& file) {
        CHECK(file.size() == 6);
        check_tensor(file, "vector", {4, 3, 2}, elements);
        check_tensor(file, "span", {5}, std::vector<TestType>(elements.begin() + 3, elements.begin() + 8));
        check_tensor(file, "array", {1, 3}, std::vector<TestType>(elements.begin(), elements.begin() + 3));
        check_tensor(file, "scalar", {}, std::vector<TestType>{elements[7]});
        check_tensor(file, "empty", {2, 0}, std::vector<TestType>());
        check_tensor(file, "compressed", {24}, elements);
    };
    check(reopened({}, fill));

    writer out = writer::create(directory / "f.zt").value();
    fill(out);
    out.finish().value();
    CHECK(directory.names() == std::vector<std::string>{"f.zt"});
    for (const io_mode mode : {io_mode::mapped, io_mode::positional}) {
        check(reader::open(directory / "f.zt", read_options().mode(mode)).value());
    }
    CHECK(to_vector(support::read_file(directory / "f.zt")) == written({}, fill));
}

TEST_CASE("bools come back from every kind of container") {
    const bool plain[] = {true, false, true};
    const std::array<bool, 3> array = {true, false, true};
    const std::vector<bool> vector = {true, false, true};
    const reader file = reopened({}, [&](writer& out) {
        out.add("span", {3}, span<const bool>(plain)).value();
        out.add("array", {3}, array).value();
        out.add("vector", {3}, vector).value();
        out.add("compressed", {3}, vector, store().zstd()).value();
        out.add("none", {0}, std::vector<bool>()).value();
    });
    for (const std::string_view name : {"span", "array", "vector", "compressed"}) {
        CAPTURE(std::string(name));
        CHECK(file.read<bool>(name).value() == vector);
        CHECK(file.read<std::uint8_t>(name).value() == std::vector<std::uint8_t>{1, 0, 1});
        CHECK(file.find(name).value().data().value().dtype_name() == "bool");
    }
    CHECK(file.read<bool>("none").value().empty());
}

TEST_CASE("bytes are taken as the file will hold them") {
    const byte_vector bytes = from_hex("0102 0304 0506");
    const reader file = reopened({}, [&](writer& out) {
        out.add_bytes("w", {3}, dtype::u16, bytes).value();
        out.add_bytes("typed", {1}, dtype::f32, from_hex("0000803f 00000040"), store().type("complex64")).value();
    });
    CHECK(file.read<std::uint16_t>("w").value() == std::vector<std::uint16_t>{0x0201, 0x0403, 0x0605});
    CHECK(file.read<std::complex<float>>("typed").value() == std::vector<std::complex<float>>{{1, 2}});
}

TEST_CASE("a logical type of the caller's choice is stored beside the elements") {
    const std::vector<std::int16_t> elements = {256, -128};
    const reader file = reopened({}, [&](writer& out) {
        out.add("named", {2}, elements, store().type("q8.8_fixed")).value();
        out.add("packed", {4}, elements, store().type("two_in_one")).value();
        out.add("same", {2}, elements, store().type("i16")).value();
    });
    CHECK(file.find("named").value().data().value().type() == "q8.8_fixed");
    CHECK(file.read<std::int16_t>("named").value() == elements);
    CHECK(file.read<std::int16_t>("packed").value() == elements);
    CHECK(file.read<std::int16_t>("same").value() == elements);
}

TEST_CASE("objects of any format keep their components") {
    const std::vector<float> values = {1, 2, 3};
    const std::vector<std::uint8_t> extra = {9};
    const reader file = reopened({}, [&](writer& out) {
        out.add_object("csr", object_draft(format::sparse_csr, {2, 3})
                                  .component("values", values)
                                  .component("indices", three_indices, store().zstd())
                                  .component("indptr", indptr_of_two_rows)
                                  .component("more", extra))
            .value();
        out.add_object("own", object_draft("my.layout/1", {7, 7}).component("b", values).component("a", extra)).value();
    });
    const ztensor::object_view csr = file.find("csr").value();
    CHECK(csr.known_format() == format::sparse_csr);
    CHECK(csr.size() == 4);
    CHECK(csr.component("values").value().read<float>().value() == values);
    CHECK(csr.component("indices").value().read<std::uint64_t>().value() == three_indices);
    CHECK(csr.component("indptr").value().read<std::uint64_t>().value() == indptr_of_two_rows);
    CHECK(csr.component("more").value().read<std::uint8_t>().value() == extra);
    const ztensor::object_view own = file.find("own").value();
    CHECK(own.format() == "my.layout/1");
    CHECK_FALSE(own.known_format().has_value());
    CHECK((*own.begin()).role() == "a");
    CHECK(own.component("a").value().offset() > own.component("b").value().offset());
    CHECK(own.component("b").value().read<float>().value() == values);
}

TEST_CASE("each tensor has the compression and the digest that was asked for") {
    const std::vector<std::uint8_t> digits = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
    const std::vector<std::int32_t> runs(20000, 7);
    const reader file = reopened({}, [&](writer& out) {
        out.add("plain", {9}, digits).value();
        out.add("crc", {9}, digits, store().digest(digest::crc32c)).value();
        out.add("sha", {9}, digits, store().digest(digest::sha256)).value();
        out.add("none", {0}, std::vector<float>(), store().digest(digest::crc32c)).value();
        for (const int level : {0, 1, 3, 19, 22}) {
            out.add("zstd" + std::to_string(level), {20000}, runs, store().zstd(level).digest(digest::crc32c)).value();
        }
    });
    const auto digest_of = [&](std::string_view name) { return file.find(name).value().data().value().digest(); };
    CHECK(digest_of("plain").empty());
    CHECK(digest_of("crc") == "crc32c:0xE3069283");
    CHECK(digest_of("sha") == "sha256:15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225");
    CHECK(digest_of("none") == "crc32c:0x00000000");
    for (const int level : {0, 1, 3, 19, 22}) {
        CAPTURE(level);
        const ztensor::component_view data = file.find("zstd" + std::to_string(level)).value().data().value();
        CHECK(data.encoding_name() == "zstd");
        CHECK(data.uncompressed_length() == std::uint64_t{80000});
        CHECK(data.stored_bytes() < 1000);
        CHECK(data.read<std::int32_t>().value() == runs);
        CHECK(data.digest() == ztensor::digest_text(digest::crc32c, data.bytes().value()));
    }
    const ztensor::verification verified = file.verify().value();
    CHECK(verified.verified == 8);
    CHECK(verified.absent == 1);
    CHECK(verified.ok());
}

TEST_CASE("blobs start at multiples of the alignment that was asked for") {
    const std::uint64_t alignment = GENERATE(64u, 128u, 4096u, 65536u);
    const std::size_t sizes[] = {1, 63, 64, 65, 0, 0, 4095, 4096, 4097, 0};
    const byte_vector bytes = noise(5000);
    const byte_vector content = written(write_options().alignment_bytes(alignment), [&](writer& out) {
        for (std::size_t i = 0; i < std::size(sizes); ++i) {
            out.add_bytes(std::string(1, static_cast<char>('a' + i)), {sizes[i]}, dtype::u8,
                          bytes_view(bytes).first(sizes[i]))
                .value();
        }
    });
    const reader file = reader::from_bytes(bytes_view(content)).value();
    std::uint64_t end = 8;
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
        const std::string name(1, static_cast<char>('a' + i));
        CAPTURE(alignment, name);
        const std::uint64_t expected = (end + alignment - 1) / alignment * alignment;
        const ztensor::component_view data = file.find(name).value().data().value();
        REQUIRE(data.offset() == expected);
        CHECK(data.read<std::byte>().value() ==
              byte_vector(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(sizes[i])));
        for (std::uint64_t gap = end; gap < expected; ++gap) {
            if (content[static_cast<std::size_t>(gap)] != std::byte{0}) {
                FAIL("padding at " << gap);
            }
        }
        end = expected + sizes[i];
    }
    CHECK(content.size() == end + file.manifest_bytes() + 16);
}

TEST_CASE("an alignment that is no power of two from 64 to 1 GiB is refused, and no file made") {
    const temp_dir directory;
    for (const std::uint64_t alignment :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{32}, std::uint64_t{63}, std::uint64_t{65},
          std::uint64_t{96}, std::uint64_t{192}, std::uint64_t{1} << 31, std::uint64_t{1} << 63, largest}) {
        CAPTURE(alignment);
        const write_options options = write_options().alignment_bytes(alignment);
        CHECK(outcome(writer::to_memory(options)) == "invalid_argument");
        CHECK(outcome(writer::create(directory / "f", options)) == "invalid_argument");
        CHECK(directory.names().empty());
        sink_log log;
        CHECK(outcome(writer::to_sink(std::make_unique<scripted_sink>(log), options)) == "invalid_argument");
        CHECK(log.content.empty());
        CHECK(log.is_gone);
    }
}

TEST_CASE("attributes of file and object come back, and none are not an empty set") {
    attributes values;
    values.set("text", "t").set("number", 1.5).set("negative", -7).set("flag", true).set_null("null");
    values.set_cbor("list", from_hex("8201f6")).value();
    const reader file = reopened({}, [&](writer& out) {
        out.attributes(attributes().set("lost", 1)).value();
        out.attributes(values).value();
        out.add("none", {4}, four_floats).value();
        out.add_object("empty", object_draft(format::dense, {4}).component("data", four_floats).attributes({})).value();
        out.add_object("some", object_draft(format::dense, {4}).component("data", four_floats).attributes(values))
            .value();
    });
    CHECK(file.has_attributes());
    CHECK(file.attributes().size() == 6);
    CHECK(file.attributes().text("text").value() == "t");
    CHECK_FALSE(file.find("none").value().has_attributes());
    CHECK(file.find("empty").value().has_attributes());
    CHECK(file.find("empty").value().attributes().empty());
    const ztensor::object_view some = file.find("some").value();
    CHECK(some.attributes().integer("negative").value() == -7);
    CHECK(some.attributes().number("number").value() == 1.5);
    CHECK(some.attributes().boolean("flag").value());
    CHECK(byte_vector(some.attributes().cbor("list").value().begin(), some.attributes().cbor("list").value().end()) ==
          from_hex("8201f6"));
    CHECK_FALSE(reopened({}, [](writer&) {}).has_attributes());
    CHECK(reopened({}, [](writer& out) { out.attributes({}).value(); }).has_attributes());
}

// -- whole files

TEST_CASE("a 1.2 file is written byte for byte as the specification says") {
    const byte_vector content = written({}, [](writer& out) {
        out.attributes(attributes().set("n", 1.5).set("author", "me")).value();
        out.add_object("b", object_draft(format::dense, {2})
                                .component("data", std::vector<float>{1, -2}, store().digest(digest::crc32c))
                                .attributes({}))
            .value();
        out.add_object("a", object_draft(format::dense, {3})
                                .component("data", std::vector<std::uint16_t>{1, 2, 0x0304})
                                .attributes(attributes().set("k", true)))
            .value();
        out.add("c", {1}, std::vector<std::complex<float>>{{1, 2}}).value();
    });
    const std::string expected =
        "5a54454e31303030" // ZTEN1000
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0000803f 000000c0" // 64: b
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0100 0200 0403" // 128: a
        "0000 0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0000803f 00000040" // 192: c
        "a3"
        "67 76657273696f6e 65 312e322e30"                                 // version: 1.2.0
        "6a 61747472696275746573 a2 66 617574686f72 62 6d65 61 6e f93e00" // attributes: author: me, n: 1.5
        "67 6f626a65637473 a3"                                            // objects
        "61 61 a4"                                                        // a
        "  65 7368617065 81 03"                                           //   shape: [3]
        "  66 666f726d6174 65 64656e7365"                                 //   format: dense
        "  6a 61747472696275746573 a1 61 6b f5"                           //   attributes: k: true
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a3"                     //   components: data:
        "    65 6474797065 63 753136"                                     //     dtype: u16
        "    66 6f6666736574 1880"                                        //     offset: 128
        "    66 6c656e677468 06"                                          //     length: 6
        "61 62 a4"                                                        // b
        "  65 7368617065 81 02"
        "  66 666f726d6174 65 64656e7365"
        "  6a 61747472696275746573 a0" //   attributes: none
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a4"
        "    65 6474797065 63 663332" //     dtype: f32
        "    66 6f6666736574 1840"
        "    66 6c656e677468 08"
        "    66 646967657374 71 6372633332633a3078 4141333646324339" //     digest: crc32c:0xAA36F2C9
        "61 63 a3"                                                   // c
        "  65 7368617065 81 01"
        "  66 666f726d6174 65 64656e7365"
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a4"
        "    65 6474797065 63 663332"
        "    64 74797065 69 636f6d706c65783634" //     type: complex64
        "    66 6f6666736574 18c0"
        "    66 6c656e677468 08"
        "4501000000000000 5a54454e31303030";
    CHECK(to_hex(content) == without_spaces(expected));
}

TEST_CASE("a 1.1 file is written byte for byte as the specification says") {
    const byte_vector content = written(write_options().version(format_version::v1_1), [](writer& out) {
        const std::vector<ztensor::float8_e4m3fn> eighths = {ztensor::float8_e4m3fn::from_bits(0x38),
                                                             ztensor::float8_e4m3fn::from_bits(0xc0)};
        out.add("z", {2}, eighths, store().digest(digest::crc32c)).value();
        out.add("y", {2}, std::vector<float>{1, 2}, store().digest(digest::sha256).type("f32")).value();
    });
    const std::string expected =
        "5a54454e31303030"
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "38c0" // 64: z
        "000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0000803f 00000040" // 128: y
        "a2"
        "67 76657273696f6e 65 312e312e30" // version: 1.1.0
        "67 6f626a65637473 a2"            // objects
        "61 79 a3"                        // y
        "  65 7368617065 81 02"
        "  66 666f726d6174 65 64656e7365"
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a4"
        "    65 6474797065 63 663332" //     dtype: f32, which its type repeats
        "    66 6f6666736574 1880"
        "    66 6c656e677468 08"
        "    66 646967657374 7847 7368613235363a" //     digest: sha256:b9c80b5a…
        "      62396338306235616465636134353037 35336131363935306333636336353564"
        "      32373166376265663761343835626338 33663131326237326665663231643337"
        "61 7a a3" // z
        "  65 7368617065 81 02"
        "  66 666f726d6174 65 64656e7365"
        "  6a 636f6d706f6e656e7473 a1 64 64617461 a4"
        "    65 6474797065 67 66385f65346d33" //     dtype: f8_e4m3
        "    66 6f6666736574 1840"
        "    66 6c656e677468 02"
        "    66 646967657374 71 6372633332633a3078 4546423638303244" //     digest: crc32c:0xEFB6802D
        "0f01000000000000 5a54454e31303030";
    CHECK(to_hex(content) == without_spaces(expected));
}

TEST_CASE("a 0.1 file is written byte for byte as the specification says") {
    const byte_vector content = written(write_options().version(format_version::v0_1), [](writer& out) {
        out.add("b", {2}, std::vector<float>{1, -2}, store().digest(digest::crc32c)).value();
        out.add_object("a", object_draft(format::dense, {1, 2})
                                .component("data", std::vector<std::uint8_t>{5, 6})
                                .attributes(attributes().set("note", "n").set("m", 1)))
            .value();
    });
    const std::string expected =
        "5a54454e30303031" // ZTEN0001
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0000803f 000000c0" // 64: b
        "0000000000000000 0000000000000000 0000000000000000 0000000000000000"
        "0000000000000000 0000000000000000 0000000000000000"
        "0506" // 128: a
        "82"
        "bf"
        "64 6e616d65 61 62"                                          // name: b
        "66 6f6666736574 1840"                                       // offset: 64
        "64 73697a65 08"                                             // size: 8
        "65 6474797065 67 666c6f61743332"                            // dtype: float32
        "66 6c61796f7574 65 64656e7365"                              // layout: dense
        "65 7368617065 81 02"                                        // shape: [2]
        "68 656e636f64696e67 63 726177"                              // encoding: raw
        "6f 646174615f656e6469616e6e657373 66 6c6974746c65"          // data_endianness: little
        "68 636865636b73756d 71 6372633332633a3078 4141333646324339" // checksum: crc32c:0xAA36F2C9
        "ff"
        "bf"
        "64 6e616d65 61 61"
        "66 6f6666736574 1880"
        "64 73697a65 02"
        "65 6474797065 65 75696e7438" // dtype: uint8
        "66 6c61796f7574 65 64656e7365"
        "65 7368617065 82 01 02"
        "68 656e636f64696e67 63 726177"
        "61 6d 01"          // m: 1
        "64 6e6f7465 61 6e" // note: n
        "ff"
        "cc00000000000000";
    CHECK(to_hex(content) == without_spaces(expected));
}

TEST_CASE("files without objects are as small as the specification says") {
    const auto nothing = [](writer&) {};
    CHECK(to_hex(written({}, nothing)) ==
          without_spaces("5a54454e31303030 a2 67 76657273696f6e 65 312e322e30 67 6f626a65637473 a0"
                         "1800000000000000 5a54454e31303030"));
    CHECK(to_hex(written(write_options().version(format_version::v1_1), nothing)) ==
          without_spaces("5a54454e31303030 a2 67 76657273696f6e 65 312e312e30 67 6f626a65637473 a0"
                         "1800000000000000 5a54454e31303030"));
    CHECK(to_hex(written(write_options().version(format_version::v0_1), nothing)) ==
          without_spaces("5a54454e30303031 80 0100000000000000"));
    CHECK(written(write_options().alignment_bytes(4096), nothing).size() == 48);
}

TEST_CASE("names of every kind are sorted by their bytes") {
    const std::vector<std::string> names = {
        "b", "aa", "a", "B", "\xc3\xbc", "a.b", "a/b", std::string(300, 'a'), "\x7f", " ", "z", "\xf0\x9f\x98\x80"};
    const std::vector<std::uint8_t> one = {1};
    const auto fill = [&](writer& out) {
        attributes values;
        object_draft draft("own", {});
        for (const std::string& name : names) {
            values.set(name, 1);
            draft.component(name, one);
        }
        for (const std::string& name : names) {
            out.add_object(name, object_draft(draft).attributes(values)).value();
        }
        out.attributes(values).value();
    };
    const reader file = reopened({}, fill);
    std::vector<std::string> sorted = names;
    std::sort(sorted.begin(), sorted.end(), [](const std::string& a, const std::string& b) {
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
            return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
        });
    });
    std::vector<std::string> objects, roles, keys;
    for (const ztensor::object_view object : file) {
        objects.emplace_back(object.name());
    }
    for (const ztensor::component_view component : file.find("b").value()) {
        roles.emplace_back(component.role());
    }
    for (const ztensor::attribute& each : file.attributes()) {
        keys.emplace_back(each.key);
    }
    CHECK(objects == sorted);
    CHECK(roles == sorted);
    CHECK(keys == sorted);

    std::uint64_t last = 0; // blobs keep the order of the calls
    for (const std::string& name : names) {
        const std::uint64_t offset = file.find(name).value().component("b").value().offset();
        CHECK(offset > last);
        last = offset;
    }
}

TEST_CASE("the same calls give the same bytes") {
    for (const format_version version : {format_version::v1_2, format_version::v1_1, format_version::v0_1}) {
        const auto fill = [&](writer& out) {
            out.add("zstd", {1000}, some_elements<std::int16_t>(1000), store().zstd(3).digest(digest::sha256)).value();
            out.add("raw", {100}, some_elements<float>(100)).value();
        };
        CHECK(written(write_options().version(version), fill) == written(write_options().version(version), fill));
    }
}

TEST_CASE("a finished file in memory is taken once") {
    writer out = writer::to_memory().value();
    CHECK(out.take_bytes().empty());
    out.add("w", {4}, four_floats).value();
    CHECK(out.take_bytes().empty());
    out.finish().value();
    CHECK(reader::from_bytes(out.take_bytes()).value().read<float>("w").value() == four_floats);
    CHECK(out.take_bytes().empty());
}

// -- earlier versions

TEST_CASE("what 1.1 can say is read back from it") {
    const reader file = reopened(write_options().version(format_version::v1_1), [](writer& out) {
        out.add("complex", {1}, std::vector<std::complex<double>>{{1, 2}}).value();
        out.add("eighths", {1}, std::vector<ztensor::float8_e5m2>{ztensor::float8_e5m2(1.5F)}).value();
        out.add("zstd", {4}, four_floats, store().zstd()).value();
        out.add_object("csr", object_draft(format::sparse_csr, {2, 3})
                                  .component("values", std::vector<float>{1, 2, 3})
                                  .component("indices", std::vector<std::int32_t>{1, 0, 2})
                                  .component("indptr", std::vector<std::uint16_t>{0, 1, 3}))
            .value();
        out.attributes(attributes().set("k", 1)).value();
    });
    CHECK(file.version() == "1.1.0");
    CHECK(file.generation() == ztensor::generation::v1_1);
    CHECK(file.read<std::complex<double>>("complex").value().front() == std::complex<double>(1, 2));
    CHECK(file.find("complex").value().data().value().original_dtype() == "complex128");
    CHECK(file.read_as<float>("eighths").value() == std::vector<float>{1.5F});
    CHECK(file.read<float>("zstd").value() == four_floats);
    CHECK_FALSE(file.find("zstd").value().data().value().uncompressed_length().has_value());
    CHECK(file.find("csr").value().component("indices").value().dtype() == dtype::i32);
    CHECK(file.attributes().integer("k").value() == 1);
}

TEST_CASE("what 0.1 can say is read back from it") {
    const reader file = reopened(write_options().version(format_version::v0_1), [](writer& out) {
        out.add("floats", {2, 2}, four_floats).value();
        out.add("bools", {2}, std::vector<bool>{true, false}).value();
        out.add("zstd", {4}, four_floats, store().zstd().digest(digest::sha256)).value();
        out.add_object("noted", object_draft(format::dense, {4})
                                    .component("data", four_floats)
                                    .attributes(attributes().set("note", "n").set("sparse_format", "own")))
            .value();
    });
    CHECK(file.version().empty());
    CHECK(file.generation() == ztensor::generation::v0_1);
    CHECK(file.read<float>("floats").value() == four_floats);
    CHECK(file.read<bool>("bools").value() == std::vector<bool>{true, false});
    CHECK(file.read<float>("zstd").value() == four_floats);
    CHECK(file.find("zstd").value().data().value().verify().value() == ztensor::digest_state::match);
    CHECK(file.find("noted").value().attributes().size() == 2);
    CHECK(file.find("noted").value().attributes().text("note").value() == "n");
    CHECK((*file.begin()).name() == "floats");
}

TEST_CASE("what a version can't say is refused by name, and nothing of it written") {
    const std::vector<std::uint8_t> byte = {1};
    const std::vector<std::complex<float>> complex = {{1, 2}};
    const std::vector<ztensor::float8_e4m3fnuz> eighth(1);
    struct attempt {
        const char* what;
        format_version version;
        std::function<result<void>(writer&)> call;
    };
    const auto draft = [&] { return object_draft(format::dense, {1}).component("data", byte); };
    const attempt attempts[] = {
        {"f8_e4m3fnuz in 1.1", format_version::v1_1, [&](writer& out) { return out.add("x", {1}, eighth); }},
        {"f8_e5m2fnuz in 1.1", format_version::v1_1,
         [&](writer& out) { return out.add("x", {1}, byte, store().type("f8_e5m2fnuz")); }},
        {"an unknown type in 1.1", format_version::v1_1,
         [&](writer& out) { return out.add("x", {1}, byte, store().type("own")); }},
        {"a type in a stream of 1.1", format_version::v1_1,
         [&](writer& out) {
             return out.stream("x", {1}, dtype::u8, store().type("own")).and_then([](const tensor_stream&) {
                 return result<void>();
             });
         }},
        {"complex in 0.1", format_version::v0_1, [&](writer& out) { return out.add("x", {1}, complex); }},
        {"f8_e4m3fn in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add("x", {1}, byte, store().type("f8_e4m3fn")); }},
        {"an unknown type in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add("x", {1}, byte, store().type("own")); }},
        {"attributes of the file in 0.1", format_version::v0_1,
         [&](writer& out) { return out.attributes(attributes().set("k", 1)); }},
        {"two components in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", draft().component("more", byte)); }},
        {"another role in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", object_draft("own", {1}).component("payload", byte)); }},
        {"an unknown format in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", object_draft("own", {1}).component("data", byte)); }},
        {"quantized weights in 0.1", format_version::v0_1,
         [&](writer& out) {
             return out.add_object("x", object_draft(format::quantized_group, {1})
                                            .component("packed_weight", byte)
                                            .component("scales", byte)
                                            .component("zeros", byte));
         }},
        {"an attribute named like a field in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", draft().attributes(attributes().set("size", 1))); }},
        {"another attribute named like a field in 0.1", format_version::v0_1,
         [&](writer& out) { return out.add_object("x", draft().attributes(attributes().set("checksum", 1))); }},
    };
    for (const attempt& each : attempts) {
        CAPTURE(each.what);
        const write_options options = write_options().version(each.version);
        sink_log log;
        writer out = writer::to_sink(std::make_unique<scripted_sink>(log), options).value();
        const std::size_t writes = log.writes;
        const result<void> refused = each.call(out);
        CHECK(outcome(refused) == "not_expressible");
        CHECK(log.writes == writes);
        out.add("w", {4}, four_floats).value();
        out.finish().value();
        CHECK(log.content == written(options, [](writer& plain) { plain.add("w", {4}, four_floats).value(); }));
    }
}

TEST_CASE("big-endian data is written as such in 0.1, in one piece or in many, and refused elsewhere") {
    const reader file = reopened(write_options().version(format_version::v0_1), [](writer& out) {
        out.add("whole", {4}, four_floats, store().big_endian()).value();
        tensor_stream stream = out.stream("in pieces", {4}, dtype::f32, store().big_endian()).value();
        stream.append(span<const float>(four_floats).first(1)).value();
        stream.append(span<const float>(four_floats).subspan(1)).value();
        stream.finish().value();
    });
    for (const char* const name : {"whole", "in pieces"}) {
        CHECK(file.find(name)->data()->is_big_endian());
        CHECK(file.read<float>(name).value() == four_floats);
    }
    const reader single = reopened(write_options().version(format_version::v0_1), [](writer& out) {
        out.add("bytes", {2}, std::vector<std::uint8_t>{1, 2}, store().big_endian()).value(); // says nothing of them
    });
    CHECK_FALSE(single.find("bytes")->data()->is_big_endian());
    const auto begun = [](const result<tensor_stream>& stream) { return outcome(stream); };
    for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        writer out = writer::to_memory(write_options().version(version)).value();
        const store compressed = store().zstd().big_endian();
        CHECK(outcome(out.add("w", {4}, four_floats, compressed)) == "not_expressible");
        CHECK(begun(out.stream("w", {4}, dtype::f32, compressed)) == "not_expressible");
        if (version != format_version::v0_1) {
            CHECK(outcome(out.add("w", {4}, four_floats, store().big_endian())) == "not_expressible");
            CHECK(begun(out.stream("w", {4}, dtype::f32, store().big_endian())) == "not_expressible");
        }
    }
}

TEST_CASE("a stream that is over has nothing to do with the next one") {
    const reader file = reopened({}, [](writer& out) {
        tensor_stream stream = out.stream("first", {4}, dtype::f32).value();
        stream.append(four_floats).value();
        stream.finish().value();
        {
            tensor_stream over = std::move(stream);
            stream = out.stream("second", {4}, dtype::f32).value();
            CHECK(outcome(over.append(four_floats)) == "writer_closed");
            CHECK(outcome(over.finish()) == "writer_closed");
            CHECK(over.missing_bytes() == 0);
        } // and it goes while the second one is open
        CHECK(stream.missing_bytes() == 16);
        stream.append(four_floats).value();
        stream.finish().value();
        stream = out.stream("third", {4}, dtype::f32).value();
        stream.append(four_floats).value();
        stream.finish().value();
    });
    for (const char* const name : {"first", "second", "third"}) {
        CHECK(file.read<float>(name).value() == four_floats);
    }
}

TEST_CASE("an exception out of the caller's sink ends the writer") {
    struct throwing_sink final : byte_sink {
        explicit throwing_sink(int& writes_left) : writes_left_(writes_left) {}
        result<void> write(bytes_view) override {
            if (writes_left_-- == 0) {
                throw std::runtime_error("the sink's own");
            }
            return {};
        }
        result<void> finish() override { return {}; }
        int& writes_left_;
    };
    for (int throwing = 1; throwing < 4; ++throwing) {
        int writes_left = throwing;
        writer out = writer::to_sink(std::make_unique<throwing_sink>(writes_left)).value();
        const auto add_and_finish = [&] {
            out.add("w", {4}, four_floats, store().zstd()).value();
            out.finish().value();
        };
        CHECK_THROWS_AS(add_and_finish(), std::runtime_error);
        CHECK(outcome(out.add("x", {4}, four_floats)) == "writer_closed");
        CHECK(outcome(out.finish()) == "writer_closed");
    }
}

TEST_CASE("options that are refused leave the target as it was, in place too") {
    const temp_dir directory;
    support::write_file(directory / "w.zt", "what was there");
    for (const auto mode : {ztensor::publish_mode::replace, ztensor::publish_mode::in_place}) {
        CHECK(outcome(writer::create(directory / "w.zt", write_options().publish(mode).alignment_bytes(3))) ==
              "invalid_argument");
        CHECK(support::read_file(directory / "w.zt") == "what was there");
    }
}

TEST_CASE("text of an attribute that is not UTF-8 is refused") {
    writer out = writer::to_memory().value();
    attributes values;
    values.set("k", "\xff\xfe");
    CHECK(outcome(out.attributes(values)) == "cbor_utf8");
    CHECK(outcome(out.attributes(attributes().merge(values))) == "cbor_utf8");
    CHECK(outcome(out.add_object("w", object_draft(format::dense, {4}).component("data", four_floats).attributes(values))) ==
          "cbor_utf8");
    CHECK(outcome(out.attributes(attributes(values).remove("k"))) == "ok");
    CHECK(outcome(out.attributes(attributes(values).merge(attributes().set("k", "right")))) == "ok");
    CHECK(outcome(out.attributes(values.set("k", "\xc3\xa4"))) == "ok");
}

TEST_CASE("a type that repeats the dtype, or has a word of its own in 1.1, is no obstacle") {
    const auto options = write_options().version(format_version::v1_1);
    const reader file = reopened(options, [](writer& out) {
        out.add("same", {4}, four_floats, store().type("f32")).value();
        out.add("complex", {2}, four_floats, store().type("complex64")).value();
    });
    CHECK(file.find("same").value().data().value().type().empty());
    CHECK(file.find("complex").value().data().value().type() == "complex64");
    const reader oldest = reopened(write_options().version(format_version::v0_1),
                                   [](writer& out) { out.add("same", {4}, four_floats, store().type("f32")).value(); });
    CHECK(oldest.read<float>("same").value() == four_floats);
}

// -- what is refused before anything is written

namespace {

struct refusal {
    std::string what;
    std::string code;
    std::function<result<void>(writer&)> call;
};

/// A sparse matrix of three values, of which only the sizes matter.
object_draft csr_draft(const shape& dimensions, std::size_t indices, std::size_t pointers) {
    static const std::vector<float> values = {1, 2, 3};
    static const std::vector<std::uint64_t> zeros(8);
    return object_draft(format::sparse_csr, dimensions)
        .component("values", values)
        .component("indices", span<const std::uint64_t>(zeros).first(indices))
        .component("indptr", span<const std::uint64_t>(zeros).first(pointers));
}

/// Calls that a writer of any version which holds an object "taken" refuses.
std::vector<refusal> refused_by_all() {
    static const std::vector<std::uint8_t> none;
    static const std::vector<std::uint8_t> one = {1};
    static const std::vector<float> three = {1, 2, 3};
    const std::string invalid_names[] = {
        "",         std::string("a\0b", 3), std::string("\0", 1), std::string(4097, 'n'), "\xff", "\xc3",
        "\xc0\x80", "\xed\xa0\x80",         "\xf4\x90\x80\x80"};
    std::vector<refusal> all;
    for (const std::string& name : invalid_names) {
        all.push_back({"object name " + name, "name_invalid", [=](writer& out) { return out.add(name, {1}, one); }});
        all.push_back(
            {"stream name " + name, "name_invalid", [=](writer& out) {
                 return out.stream(name, {1}, dtype::u8).and_then([](const tensor_stream&) { return result<void>(); });
             }});
        all.push_back({"role " + name, "name_invalid", [=](writer& out) {
                           return out.add_object("x", object_draft("own", {1}).component(name, one));
                       }});
        all.push_back(
            {"attribute " + name, "name_invalid", [=](writer& out) {
                 return out.add_object(
                     "x",
                     object_draft(format::dense, {1}).component("data", one).attributes(attributes().set(name, 1)));
             }});
        all.push_back({"file attribute " + name, "name_invalid",
                       [=](writer& out) { return out.attributes(attributes().set(name, 1)); }});
    }
    const auto refuse_shape = [&](const char* what, const char* code, const shape& dimensions) {
        all.push_back({what, code, [=](writer& out) { return out.add("x", dimensions, none); }});
        all.push_back({std::string("stream: ") + what, code, [=](writer& out) {
                           return out.stream("x", dimensions, dtype::u8).and_then([](const tensor_stream&) {
                               return result<void>();
                           });
                       }});
    };
    const std::uint64_t big = std::uint64_t{1} << 40;
    refuse_shape("2^64 elements", "shape_overflow", {std::uint64_t{1} << 32, std::uint64_t{1} << 32});
    refuse_shape("a zero behind an overflow", "shape_overflow", {big, big, 0});
    refuse_shape("a zero before an overflow", "shape_overflow", {0, big, big});
    refuse_shape("65 dimensions", "limit_exceeded",
                 shape(span<const std::uint64_t>(std::vector<std::uint64_t>(65, 1))));
    all.push_back({"2^64 bytes", "shape_overflow",
                   [](writer& out) { return out.add("x", {std::uint64_t{1} << 62}, four_floats); }});
    all.push_back({"2^64 bytes in a stream", "shape_overflow", [](writer& out) {
                       return out.stream("x", {std::uint64_t{1} << 62}, dtype::f32).and_then([](const tensor_stream&) {
                           return result<void>();
                       });
                   }});

    const std::vector<refusal> others = {
        {"a name that is taken", "duplicate_key", [](writer& out) { return out.add("taken", {1}, one); }},
        {"a stream of a name that is taken", "duplicate_key",
         [](writer& out) {
             return out.stream("taken", {1}, dtype::u8).and_then([](const tensor_stream&) { return result<void>(); });
         }},
        {"a role given twice", "duplicate_key",
         [](writer& out) {
             return out.add_object(
                 "x", object_draft("own", {1}).component("r", one).component("s", one).component("r", one));
         }},
        {"too few elements", "size_mismatch", [](writer& out) { return out.add("x", {4}, three); }},
        {"too many elements", "size_mismatch", [](writer& out) { return out.add("x", {2}, three); }},
        {"no elements for a scalar", "size_mismatch", [](writer& out) { return out.add("x", {}, none); }},
        {"elements for an empty shape", "size_mismatch",
         [](writer& out) {
             return out.add("x", {3, 0}, three);
         }},
        {"elements to be compressed, too few", "size_mismatch",
         [](writer& out) { return out.add("x", {4}, three, store().zstd()); }},
        {"too few bools", "size_mismatch", [](writer& out) { return out.add("x", {4}, std::vector<bool>(3)); }},
        {"bytes that are no whole element", "size_mismatch",
         [](writer& out) { return out.add_bytes("x", {1}, dtype::u32, bytes_view(noise(3))); }},
        {"level 23", "invalid_argument", [](writer& out) { return out.add("x", {3}, three, store().zstd(23)); }},
        {"the smallest of all levels", "invalid_argument",
         [](writer& out) { return out.add("x", {3}, three, store().zstd(std::numeric_limits<int>::min())); }},
        {"a stream of level 100", "invalid_argument",
         [](writer& out) {
             return out.stream("x", {1}, dtype::u8, store().zstd(100)).and_then([](const tensor_stream&) {
                 return result<void>();
             });
         }},
    };
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

/// More of them, by writers of 1.2.
std::vector<refusal> refused_by_1_2() {
    static const std::vector<std::uint8_t> one = {1};
    static const std::vector<float> three = {1, 2, 3};
    static const std::vector<std::int32_t> narrow = {1, 0, 2};
    static const std::vector<std::uint64_t> six(6);
    const auto add = [](object_draft draft) {
        return [draft = std::move(draft)](writer& out) { return out.add_object("x", draft); };
    };
    const auto& indices = three_indices;
    const auto& indptr = indptr_of_two_rows;
    const auto coo = [](const shape& dimensions, std::size_t coords) {
        return object_draft(format::sparse_coo, dimensions)
            .component("values", three)
            .component("coords", span<const std::uint64_t>(six).first(coords));
    };
    const auto quantized = [](std::size_t words, std::size_t scales, std::size_t zeros) {
        static const std::vector<std::uint32_t> packed(8);
        static const std::vector<float> parameters(8);
        return object_draft(format::quantized_group, {2, 16})
            .component("packed_weight", span<const std::uint32_t>(packed).first(words))
            .component("scales", span<const float>(parameters).first(scales))
            .component("zeros", span<const float>(parameters).first(zeros))
            .attributes(attributes().set("bits", 4).set("group_size", 8).set("packing", "8_per_u32"));
    };
    return {
        {"no components", "schema_missing", add(object_draft(format::dense, {1}))},
        {"dense without data", "layout_components", add(object_draft(format::dense, {1}).component("values", one))},
        {"csr without indptr", "layout_components",
         add(object_draft(format::sparse_csr, {2, 3}).component("values", three).component("indices", indices))},
        {"coo without coords", "layout_components",
         add(object_draft(format::sparse_coo, {3}).component("values", three))},
        {"quantized without zeros", "layout_components",
         add(object_draft(format::quantized_group, {1}).component("packed_weight", one).component("scales", one))},
        {"csr of rank 1", "sparse_shape", add(csr_draft({2}, 3, 3))},
        {"csr of rank 3", "sparse_shape", add(csr_draft({2, 3, 1}, 3, 3))},
        {"csr with too few indices", "sparse_size", add(csr_draft({2, 3}, 2, 3))},
        {"csr with too few row pointers", "sparse_size", add(csr_draft({2, 3}, 3, 2))},
        {"csr with too many row pointers", "sparse_size", add(csr_draft({2, 3}, 3, 4))},
        {"csr whose rows + 1 overflow", "shape_overflow", add(csr_draft({largest, 0}, 3, 1))},
        {"csr with indices of i32", "sparse_dtype",
         add(object_draft(format::sparse_csr, {2, 3})
                 .component("values", three)
                 .component("indices", narrow)
                 .component("indptr", indptr))},
        {"csr with indptr of i32", "sparse_dtype",
         add(object_draft(format::sparse_csr, {2, 3})
                 .component("values", three)
                 .component("indices", indices)
                 .component("indptr", narrow))},
        {"coo of rank 0", "sparse_shape", add(coo({}, 3))},
        {"coo with too few coords", "sparse_size", add(coo({4, 4}, 5))},
        {"coo with too many coords", "sparse_size", add(coo({4}, 6))},
        {"coo with coords of f32", "sparse_dtype",
         add(object_draft(format::sparse_coo, {3}).component("values", three).component("coords", three))},
        {"quantized with too few words", "size_mismatch", add(quantized(3, 4, 4))},
        {"quantized with too many scales", "size_mismatch", add(quantized(4, 5, 4))},
        {"quantized with too few zeros", "size_mismatch", add(quantized(4, 4, 3))},
        {"a level in the last component", "invalid_argument",
         add(object_draft("own", {}).component("a", one).component("b", one, store().zstd(99)))},
        {"big-endian data", "not_expressible",
         [](writer& out) { return out.add("x", {3}, three, store().big_endian()); }},
    };
}

} // namespace

TEST_CASE("what is refused writes nothing, and the writer goes on as if it had not been asked") {
    struct kind_of_file {
        format_version version;
        std::vector<refusal> refusals;
    };
    std::vector<refusal> all_of_1_2 = refused_by_all();
    for (const refusal& each : refused_by_1_2()) {
        all_of_1_2.push_back(each);
    }
    for (const kind_of_file& kind :
         {kind_of_file{format_version::v1_2, all_of_1_2}, kind_of_file{format_version::v1_1, refused_by_all()},
          kind_of_file{format_version::v0_1, refused_by_all()}}) {
        const write_options options = write_options().version(kind.version);
        const auto add_taken = [](writer& out) { out.add("taken", {4}, four_floats).value(); };
        const auto add_rest = [](writer& out) {
            out.add("x", {2}, std::vector<std::int16_t>{1, 2}, store().zstd().digest(digest::crc32c)).value();
        };
        sink_log log;
        writer out = writer::to_sink(std::make_unique<scripted_sink>(log), options).value();
        add_taken(out);
        const std::size_t writes = log.writes;
        for (const refusal& each : kind.refusals) {
            CAPTURE(static_cast<int>(kind.version), each.what);
            const std::string code = outcome(each.call(out));
            const bool is_by_version = kind.version == format_version::v0_1 && code == "not_expressible";
            CHECK((code == each.code || is_by_version));
            CHECK(log.writes == writes);
        }
        add_rest(out);
        for (const refusal& each : kind.refusals) {
            CHECK(outcome(each.call(out)) != "ok");
        }
        out.finish().value();
        CHECK(log.is_published);
        CHECK(log.content == written(options, [&](writer& plain) {
                  add_taken(plain);
                  add_rest(plain);
              }));
    }
}

TEST_CASE("a refusal says which object and component it is about") {
    writer out = writer::to_memory().value();
    const result<void> wrong_size = out.add("layer.weight", {3}, four_floats);
    REQUIRE(outcome(wrong_size) == "size_mismatch");
    CHECK(wrong_size.error().object() == "layer.weight");
    CHECK(wrong_size.error().component() == "data");
    CHECK_FALSE(wrong_size.error().offset().has_value());
    const result<void> bad_level = out.add("other", {4}, four_floats, store().zstd(23));
    CHECK(bad_level.error().object() == "other");
}

TEST_CASE("names up to 4,096 bytes are written") {
    const std::string longest(4096, 'n');
    const reader file = reopened({}, [&](writer& out) { out.add(longest, {4}, four_floats).value(); });
    CHECK(file.contains(longest));
}

TEST_CASE("a bool of another byte than 0 and 1 is not written since 1.0") {
    const std::vector<std::byte> bytes = from_hex("0001 02");
    for (const format_version version : {format_version::v1_2, format_version::v1_1}) {
        CAPTURE(static_cast<int>(version));
        const byte_vector content = written(write_options().version(version), [&](writer& out) {
            const result<void> added = out.add_bytes("x", {3}, dtype::boolean, bytes);
            CHECK(outcome(added) == "bad_bool");
        });
        CHECK(reader::from_bytes(content).value().empty());
    }
}

// -- streams

TEST_CASE("a tensor written in pieces of any size is the tensor written at once") {
    std::mt19937 random(3);
    const std::vector<float> elements = some_elements<float>(30000);
    const span<const float> all(elements);
    const byte_vector raw_bytes = bytes_in_file(elements, 4);
    const store stores[] = {store(), store().digest(digest::sha256), store().zstd(1),
                            store().zstd(3).digest(digest::crc32c)};
    for (const store& how : stores) {
        const byte_vector at_once = written({}, [&](writer& out) {
            out.add("w", {300, 100}, elements, how).value();
            out.add("after", {4}, four_floats).value();
        });
        for (const std::size_t most : {std::size_t{1000}, std::size_t{20000}, std::size_t{30000}}) {
            for (const bool as_bytes : {false, true}) {
                CAPTURE(most, as_bytes, name(how.encoding_));
                const byte_vector in_pieces = written({}, [&](writer& out) {
                    tensor_stream stream = out.stream("w", {300, 100}, dtype::f32, how).value();
                    const std::size_t total = as_bytes ? raw_bytes.size() : elements.size();
                    for (std::size_t at = 0; at < total;) {
                        const std::size_t taken = std::min<std::size_t>(random() % (most + 1), total - at);
                        REQUIRE(stream.missing_bytes() == (total - at) * (as_bytes ? 1 : 4));
                        if (as_bytes) {
                            stream.append_bytes(bytes_view(raw_bytes).subspan(at, taken)).value();
                        } else {
                            stream.append(all.subspan(at, taken)).value();
                        }
                        at += taken;
                    }
                    CHECK(stream.missing_bytes() == 0);
                    stream.finish().value();
                    out.add("after", {4}, four_floats).value();
                });
                if (how.encoding_ == ztensor::encoding::raw) {
                    CHECK(in_pieces == at_once);
                }
                const reader file = reader::from_bytes(bytes_view(in_pieces)).value();
                check_tensor(file, "w", {300, 100}, elements);
                CHECK(file.read<float>("after").value() == four_floats);
                CHECK(file.verify().value().ok());
                CHECK(file.find("w").value().data().value().digest().empty() == (how.digest_ == digest::none));
            }
        }
    }
}

TEST_CASE("a stream of one byte at a time, of nothing, and of a scalar") {
    const byte_vector bytes = from_hex("0000803f 00000040");
    const reader file = reopened({}, [&](writer& out) {
        tensor_stream single = out.stream("single", {2}, dtype::f32, store().zstd()).value();
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            single.append_bytes(bytes_view(bytes).subspan(i, 1)).value();
        }
        single.finish().value();
        tensor_stream nothing = out.stream("nothing", {0, 5}, dtype::f64, store().zstd()).value();
        CHECK(nothing.missing_bytes() == 0);
        nothing.append(std::vector<double>()).value();
        nothing.finish().value();
        tensor_stream scalar = out.stream("scalar", {}, dtype::i16).value();
        scalar.append(std::array<std::int16_t, 1>{7}).value();
        scalar.finish().value();
        tensor_stream complex = out.stream("complex", {2}, dtype::f32, store().type("complex64")).value();
        CHECK(complex.missing_bytes() == 16);
        complex.append(std::vector<std::complex<float>>{{1, 2}}).value();
        complex.append(std::vector<float>{3, 4}).value();
        complex.finish().value();
    });
    CHECK(file.read<float>("single").value() == std::vector<float>{1, 2});
    CHECK(file.read<double>("nothing").value().empty());
    CHECK(file.read<std::int16_t>("scalar").value() == std::vector<std::int16_t>{7});
    CHECK(file.read<std::complex<float>>("complex").value() == std::vector<std::complex<float>>{{1, 2}, {3, 4}});
}

TEST_CASE("a stream refuses what does not belong to it, and goes on") {
    writer out = writer::to_memory().value();
    tensor_stream stream = out.stream("w", {4}, dtype::f32).value();
    stream.append(std::vector<float>{1, 2}).value();
    CHECK(outcome(stream.append(std::vector<double>{1})) == "type_mismatch");
    CHECK(outcome(stream.append(std::vector<std::int32_t>{1})) == "type_mismatch");
    CHECK(outcome(stream.append(std::vector<float>{1, 2, 3})) == "size_mismatch");
    CHECK(outcome(stream.append_bytes(bytes_view(noise(9)))) == "size_mismatch");
    CHECK(outcome(stream.finish()) == "size_mismatch");
    CHECK(stream.missing_bytes() == 8);
    // The writer itself is busy.
    CHECK(outcome(out.add("x", {4}, four_floats)) == "writer_closed");
    CHECK(outcome(out.attributes(attributes().set("k", 1))) == "writer_closed");
    CHECK(outcome(out.stream("x", {4}, dtype::f32)) == "writer_closed");
    CHECK(outcome(out.finish()) == "writer_closed");
    stream.append(std::vector<float>{3, 4}).value();
    stream.finish().value();
    CHECK(stream.missing_bytes() == 0);
    CHECK(outcome(stream.append(std::vector<float>{5})) == "writer_closed");
    CHECK(outcome(stream.append_bytes({})) == "writer_closed");
    CHECK(outcome(stream.finish()) == "writer_closed");
    out.add("x", {4}, four_floats).value();
    out.finish().value();
    CHECK(out.take_bytes() == written({}, [](writer& plain) {
              plain.add("w", {4}, four_floats).value();
              plain.add("x", {4}, four_floats).value();
          }));
}

TEST_CASE("a stream that is dropped takes the file with it") {
    const temp_dir directory;
    support::write_file(directory / "f", "the old content");
    {
        writer out = writer::create(directory / "f").value();
        out.add("before", {4}, four_floats).value();
        {
            tensor_stream stream = out.stream("w", {4}, dtype::f32).value();
            stream.append(std::vector<float>{1, 2}).value();
        }
        CHECK(directory.names() == std::vector<std::string>{"f"});
        CHECK(outcome(out.add("x", {4}, four_floats)) == "writer_closed");
        CHECK(outcome(out.stream("x", {4}, dtype::f32)) == "writer_closed");
        CHECK(outcome(out.attributes({})) == "writer_closed");
        CHECK(outcome(out.finish()) == "writer_closed");
        CHECK(outcome(out.finish()) == "writer_closed");
    }
    CHECK(directory.names() == std::vector<std::string>{"f"});
    CHECK(support::read_file(directory / "f") == "the old content");

    writer in_memory = writer::to_memory().value();
    { const tensor_stream dropped = in_memory.stream("w", {0}, dtype::f32).value(); }
    CHECK(outcome(in_memory.finish()) == "writer_closed");
    CHECK(in_memory.take_bytes().empty());
}

// -- what is left behind

TEST_CASE("nothing is seen of a file before it is finished, nor when it never is") {
    const temp_dir directory;
    support::write_file(directory / "old", "the old content");
    for (const char* const name : {"old", "new"}) {
        const std::string before = support::read_file(directory / name);
        {
            writer out = writer::create(directory / name).value();
            out.add("w", {500000}, some_elements<double>(500000)).value();
            CHECK(support::read_file(directory / name) == before);
        }
        CHECK(directory.names() == std::vector<std::string>{"old"});
        CHECK(support::read_file(directory / "old") == "the old content");
    }
    writer out = writer::create(directory / "old").value();
    out.add("w", {4}, four_floats).value();
    out.finish().value();
    CHECK(directory.names() == std::vector<std::string>{"old"});
    CHECK(reader::open(directory / "old").value().read<float>("w").value() == four_floats);
}

TEST_CASE("nothing more is written once a file is finished") {
    writer out = writer::to_memory().value();
    out.finish().value();
    const byte_vector content = out.take_bytes();
    CHECK(content.size() == 48);
    CHECK(outcome(out.finish()) == "writer_closed");
    CHECK(outcome(out.add("x", {4}, four_floats)) == "writer_closed");
    CHECK(outcome(out.add_object("x", object_draft("own", {}).component("c", four_floats))) == "writer_closed");
    CHECK(outcome(out.attributes({})) == "writer_closed");
    CHECK(outcome(out.stream("x", {4}, dtype::f32)) == "writer_closed");
    CHECK(out.take_bytes().empty());
}

TEST_CASE("a place where no file can be is refused") {
    const temp_dir directory;
    CHECK(outcome(writer::create(directory.path())) == "not_regular_file");
    const result<writer> nowhere = writer::create(directory / "absent" / "f.zt");
    REQUIRE(outcome(nowhere) == "io_error");
    CHECK(nowhere.error().path().find("f.zt") != std::string::npos);
    CHECK(directory.names().empty());
}

namespace {

struct writing {
    writer out;
    std::unique_ptr<tensor_stream> stream;
};

using step = std::function<result<void>(writing&)>;

step begin_stream(const std::string& name, const store& how) {
    return [=](writing& at) -> result<void> {
        at.stream.reset();
        result<tensor_stream> begun = at.out.stream(name, {2000}, dtype::u16, how);
        if (!begun) {
            return begun.error();
        }
        at.stream = std::make_unique<tensor_stream>(*std::move(begun));
        return {};
    };
}

step append_to_stream(std::size_t from, std::size_t count) {
    return [=](writing& at) -> result<void> {
        static const std::vector<std::uint16_t> elements = some_elements<std::uint16_t>(2000);
        return at.stream ? at.stream->append(span<const std::uint16_t>(elements).subspan(from, count))
                         : result<void>(error(errc::writer_closed, "there is no stream"));
    };
}

step finish_stream() {
    return [](writing& at) {
        return at.stream ? at.stream->finish() : result<void>(error(errc::writer_closed, "there is no stream"));
    };
}

/// Every kind of call that writes.
std::vector<step> every_kind_of_step() {
    return {
        [](writing& at) { return at.out.add("raw", {4}, four_floats); },
        [](writing& at) { return at.out.attributes(attributes().set("k", 1)); },
        [](writing& at) {
            return at.out.add("zstd", {1000}, some_elements<float>(1000), store().zstd().digest(digest::sha256));
        },
        begin_stream("stream", {}),
        append_to_stream(0, 1000),
        append_to_stream(1000, 1000),
        finish_stream(),
        begin_stream("compressed stream", store().zstd(3).digest(digest::crc32c)),
        append_to_stream(0, 1999),
        append_to_stream(1999, 1),
        finish_stream(),
        [](writing& at) {
            return at.out.add_object(
                "object",
                object_draft("own", {}).component("a", four_floats).component("b", four_floats, store().zstd()));
        },
        [](writing& at) { return at.out.finish(); },
    };
}

/// Takes all steps with a sink that fails as told: the first that fails says why, and after it nothing goes any more.
void check_failing(std::size_t failing_write, bool fails_to_finish) {
    CAPTURE(failing_write, fails_to_finish);
    sink_log log;
    result<writer> created = writer::to_sink(std::make_unique<scripted_sink>(log, failing_write, fails_to_finish));
    if (!created) {
        CHECK(failing_write == 0);
        CHECK(outcome(created) == "io_error");
        CHECK(log.is_gone);
        return;
    }
    {
        writing at{*std::move(created), nullptr};
        bool is_broken = false;
        for (const step& each : every_kind_of_step()) {
            const std::string code = outcome(each(at));
            CHECK(code == (is_broken ? "writer_closed" : log.has_failed ? "io_error" : "ok"));
            is_broken = log.has_failed;
        }
        CHECK(is_broken);
        CHECK(outcome(at.out.finish()) == "writer_closed");
        CHECK(at.out.take_bytes().empty());
        at.stream.reset();
    }
    CHECK(log.is_gone);
    CHECK_FALSE(log.is_published);
    CHECK(log.calls_after_failure == 0);
}

} // namespace

TEST_CASE("whichever write fails, every later call says so and nothing is published") {
    sink_log log;
    {
        writing at{writer::to_sink(std::make_unique<scripted_sink>(log)).value(), nullptr};
        for (const step& each : every_kind_of_step()) {
            each(at).value();
        }
    }
    REQUIRE(log.is_published);
    REQUIRE(log.writes > 15);
    CHECK(reader::from_bytes(byte_vector(log.content)).value().size() == 5);
    for (std::size_t failing = 0; failing < log.writes; ++failing) {
        check_failing(failing, false);
    }
    check_failing(scripted_sink::never, true);
}

TEST_CASE("a stream whose sink failed stays failed") {
    // Fails in the stream's first write, behind the magic and the padding.
    for (const store& how : {store(), store().zstd()}) {
        sink_log log;
        writer out = writer::to_sink(std::make_unique<scripted_sink>(log, 2)).value();
        tensor_stream stream = out.stream("w", {1 << 20}, dtype::u8, how).value();
        const byte_vector bytes = noise(1 << 20);
        result<void> last;
        for (std::size_t at = 0; at < bytes.size() && last; at += 4096) {
            last = stream.append_bytes(bytes_view(bytes).subspan(at, 4096));
        }
        CHECK(outcome(last) == "io_error");
        CHECK(outcome(stream.append_bytes(bytes_view(bytes).first(1))) == "writer_closed");
        CHECK(outcome(stream.append_bytes({})) == "writer_closed");
        CHECK(outcome(stream.finish()) == "writer_closed");
        CHECK(outcome(out.finish()) == "writer_closed");
        CHECK(log.calls_after_failure == 0);
    }
}

TEST_CASE("a stream that failed in its last write does not finish") {
    sink_log log;
    writer out = writer::to_sink(std::make_unique<scripted_sink>(log, 2)).value();
    tensor_stream stream = out.stream("w", {4}, dtype::f32).value();
    CHECK(outcome(stream.append(four_floats)) == "io_error");
    CHECK(outcome(stream.finish()) == "writer_closed");
    CHECK(outcome(out.finish()) == "writer_closed");
    CHECK_FALSE(log.is_published);
}
