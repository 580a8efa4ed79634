// SPDX-License-Identifier: MIT
//
// Files made to exhaust a reader: refused on little stack, and opened in memory that the index bounds.
#include "manifest/walking.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/golden.hpp"
#include "support/openings.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using support::byte_vector;
using support::bytes;
using support::counts_memory;
using support::measure_memory;
using support::memory_use;
using support::opened;
using support::sample;
using walking::mebibyte;
using ztensor::bytes_view;
using ztensor::errc;
using ztensor::generation;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
namespace cbor = support::cbor;
using walking::on_little_stack;

/// What came of opening a file on little stack, and the memory it took at most beside the file itself.
struct refused_opening {
    bool is_refused = false;
    errc code{};
    std::size_t most_memory = 0;
};

refused_opening open_on_little_stack(const bytes& content) {
    refused_opening found;
    const byte_vector memory = support::to_vector(content);
    on_little_stack([&] {
        const memory_use use = measure_memory([&] {
            result<reader> file = reader::from_bytes(bytes_view(memory));
            found.is_refused = !file;
            found.code = file ? errc{} : file.error().code();
            return file;
        });
        found.most_memory = use.most;
    });
    return found;
}

/// `content` as the whole index of each kind of container, and as the value of a field that is not known.
std::vector<bytes> files_around(const bytes& content) {
    const bytes version = cbor::text("version") + cbor::text("1.2.0") + cbor::text("objects") + cbor::map().encoded();
    const bytes attribute = "\xa1" + cbor::text("attributes") + "\xa1" + cbor::text("k");
    const bytes tensor = "\x81\xa1" + cbor::text("k");
    return {support::file_1(content),
            support::file_1("\xa3" + version + cbor::text("x") + content),
            support::file_1(attribute + content),
            support::file_1_0(content),
            support::file_0_1(content),
            support::file_0_1(tensor + content)};
}

/// A copy of the index, and a little for the sentence of the error. Where bytes look like a long map of objects, room
/// for objects has been made.
std::size_t allowed_for_refusal(std::size_t index_bytes) {
    return 4 * index_bytes + mebibyte;
}

} // namespace

TEST_CASE("10 MB of anything that nests are refused on little stack, in bounded memory") {
    const std::pair<char, errc> nesting[] = {
        {'\x81', errc::cbor_depth}, {'\x9f', errc::cbor_depth},     {'\xa1', errc::cbor_depth},
        {'\xbf', errc::cbor_depth}, {'\x7f', errc::cbor_malformed}, {'\x5f', errc::cbor_malformed},
        {'\xc1', errc::cbor_depth}, {'\xd8', errc::cbor_depth},
    };
    for (const auto& [byte, code] : nesting) {
        const bytes content(10'000'000, byte);
        std::size_t position = 0;
        for (const bytes& file : files_around(content)) {
            CAPTURE(static_cast<int>(static_cast<unsigned char>(byte)), position);
            const refused_opening found = open_on_little_stack(file);
            CHECK(found.is_refused);
            CHECK(found.most_memory <= allowed_for_refusal(content.size()));
            if (position == 1 || position == 2 || position == 5) { // where any item may stand
                CHECK(found.code == code);
            }
            ++position;
        }
    }
}

TEST_CASE("1 MB of any byte is refused on little stack, in bounded memory") {
    for (unsigned byte = 0; byte < 256; ++byte) {
        const bytes content(1'000'000, static_cast<char>(byte));
        for (const bytes& file : files_around(content)) {
            const refused_opening found = open_on_little_stack(file);
            if (!found.is_refused || found.most_memory > allowed_for_refusal(content.size())) {
                CAPTURE(byte, found.most_memory, content.size());
                CHECK(found.is_refused);
                CHECK(found.most_memory <= allowed_for_refusal(content.size()));
            }
        }
    }
}

namespace {

/// Short names, all different: "a", "b", … "aa", "ba", …
std::string short_name(std::size_t number) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    std::string name;
    for (++number; number != 0; number = (number - 1) / letters.size()) {
        name += letters[(number - 1) % letters.size()];
    }
    return name;
}

struct hostile_index {
    const char* what;
    generation from;
    std::function<bytes(std::size_t)> make; ///< an index of about `megabytes`
};

/// Encoded pairs of a map of `count` names.
template <class Value>
bytes named_pairs(std::size_t count, Value&& value) {
    bytes out = cbor::head(cbor::major::map, count);
    for (std::size_t i = 0; i < count; ++i) {
        out += cbor::text(short_name(i)) + value(i);
    }
    return out;
}

bytes root_of(generation from, const bytes& objects, const bytes& attributes = cbor::map()) {
    const bool is_1_0 = from == generation::v1_0;
    return cbor::map{{"version", cbor::text(is_1_0 ? "1.0" : "1.2.0")},
                     {"attributes", attributes},
                     {is_1_0 ? "tensors" : "objects", objects}};
}

bytes empty_blob(std::size_t) {
    return cbor::map{{"dtype", cbor::text("")}, {"offset", cbor::number(64)}, {"length", cbor::number(0)}};
}

bytes empty_blob_1_0(std::size_t) {
    return cbor::map{{"offset", cbor::number(64)}, {"length", cbor::number(0)}};
}

bytes object_of(const bytes& shape, const bytes& components) {
    return cbor::map{{"shape", shape}, {"format", cbor::text("")}, {"components", components}};
}

bytes object_1_0_of(const bytes& components) {
    return cbor::map{
        {"dtype", cbor::text("")}, {"shape", cbor::array({})}, {"format", cbor::text("")}, {"components", components}};
}

/// Each takes as many records, or as much work, for as few bytes as its generation allows.
const hostile_index hostile_indexes[] = {
    {"many objects", generation::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), cbor::map{{"a", empty_blob(0)}});
         return root_of(generation::v1_2, named_pairs(size / 60, [&](std::size_t) { return object; }));
     }},
    {"many objects of one blob that is not empty", generation::v1_2,
     [](std::size_t size) {
         const bytes blob =
             cbor::map{{"dtype", cbor::text("")}, {"offset", cbor::number(64)}, {"length", cbor::number(8)}};
         const bytes object = object_of(cbor::array({}), cbor::map{{"a", blob}});
         return root_of(generation::v1_2, named_pairs(size / 60, [&](std::size_t) { return object; }));
     }},
    {"many components", generation::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), named_pairs(4096, empty_blob));
         return root_of(generation::v1_2, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many components of one letter", generation::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), named_pairs(62, empty_blob));
         return root_of(generation::v1_2, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many components of 1.0", generation::v1_0,
     [](std::size_t size) {
         const bytes object = object_1_0_of(named_pairs(4096, empty_blob_1_0));
         return root_of(generation::v1_0, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many components of 1.0, of one letter", generation::v1_0,
     [](std::size_t size) {
         const bytes object = object_1_0_of(named_pairs(62, empty_blob_1_0));
         return root_of(generation::v1_0, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many tensors of 0.1", generation::v0_1,
     [](std::size_t size) {
         const std::size_t count = size / 50;
         bytes out = cbor::head(cbor::major::array, count);
         for (std::size_t i = 0; i < count; ++i) {
             out += cbor::map{{"name", cbor::text(short_name(i))}, {"offset", cbor::number(64)},
                              {"size", cbor::number(0)},           {"dtype", cbor::text("")},
                              {"shape", cbor::array({})},          {"encoding", cbor::text("")}}
                        .encoded();
         }
         return out;
     }},
    {"shapes of 64 ones", generation::v1_2,
     [](std::size_t size) {
         const bytes object =
             object_of(cbor::numbers(std::vector<std::uint64_t>(64, 1)), cbor::map{{"a", empty_blob(0)}});
         return root_of(generation::v1_2, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many tiny attributes", generation::v1_2,
     [](std::size_t size) {
         return root_of(generation::v1_2, cbor::map(), named_pairs(size / 6, [](std::size_t) { return cbor::null; }));
     }},
    {"objects of many tiny attributes", generation::v1_2,
     [](std::size_t size) {
         const bytes attributes = named_pairs(1000, [](std::size_t) { return cbor::null; });
         const bytes object = cbor::map{{"shape", cbor::array({})},
                                        {"format", cbor::text("")},
                                        {"attributes", attributes},
                                        {"components", cbor::map{{"a", empty_blob(0)}}}};
         return root_of(generation::v1_2, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"one attribute of many empty maps", generation::v1_2,
     [](std::size_t size) {
         const bytes maps = cbor::head(cbor::major::array, size) + support::repeated(size, "\xa0");
         return root_of(generation::v1_2, cbor::map(), cbor::map{{"k", maps}});
     }},
    {"names in chunks of one byte", generation::v1_2,
     [](std::size_t size) {
         const auto in_chunks = [](const std::string& name) {
             return cbor::indefinite_head(cbor::major::text) + support::repeated(1000, "\x60\x61n") + cbor::text(name) +
                    cbor::stop;
         };
         const std::size_t count = size / 3100;
         bytes objects = cbor::head(cbor::major::map, count);
         for (std::size_t i = 0; i < count; ++i) {
             objects += in_chunks(short_name(i)) + object_of(cbor::array({}), cbor::map{{"a", empty_blob(0)}});
         }
         return root_of(generation::v1_2, objects);
     }},
    {"unknown fields of one object", generation::v1_2,
     [](std::size_t size) {
         sample file;
         for (std::size_t i = 0; i < size / 6; ++i) {
             file.object_map().add(cbor::text(short_name(i)), cbor::null);
         }
         return file.index();
     }},
};

} // namespace

TEST_CASE("an open file holds at most four times its index, and 1 MiB, whatever the index is made of") {
    for (const hostile_index& each : hostile_indexes) {
        CAPTURE(each.what);
        const bytes index = each.make(counts_memory ? 4'000'000 : 400'000);
        const std::vector<bytes> blobs = {bytes(8, 'x')};
        const byte_vector memory = support::to_vector(each.from == generation::v0_1   ? support::file_0_1(index, blobs)
                                                      : each.from == generation::v1_0 ? support::file_1_0(index, blobs)
                                                                                      : support::file_1(index, blobs));
        bool is_walked = false;
        const memory_use use = measure_memory([&] {
            result<reader> file = reader::from_bytes(bytes_view(memory));
            is_walked = file && !file->contains("no such name"); // which makes the table of names
            return file;
        });
        REQUIRE(is_walked);
        CAPTURE(index.size(), use.held, use.most);
        if (counts_memory) {
            CHECK(use.held > index.size()); // it is counted at all
            CHECK(use.held <= 4 * index.size() + mebibyte);
        }
    }
}

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED) // whose runtime ends the program instead
TEST_CASE("data that no memory holds are an error when they are read") {
    const std::uint64_t length = std::uint64_t{1} << (sizeof(std::size_t) == 8 ? 62 : 30); // the host could address
    sample file;
    file.dtype("f64").shape({length / 8}).place(64, length);
    const bytes index = file.index();
    const bytes tail = index + support::little_endian(index.size(), 8) + bytes(support::magic_1);
    const auto source =
        std::make_shared<support::source_with_holes>(64 + length + tail.size(), bytes(support::magic_1), tail);
    const reader opened = reader::from_source(source, read_options().max_decoded_bytes(length)).value();
    if (sizeof(std::size_t) == 8) {
        CHECK(opened.read<double>("w").error().code() == errc::out_of_memory);
        CHECK(opened.read<double>("w").error().object() == "w");
        CHECK(opened.read_as<float>("w").error().code() == errc::out_of_memory);
    }
}
#endif
