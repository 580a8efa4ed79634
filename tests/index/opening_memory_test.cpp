// SPDX-License-Identifier: MIT
//
// What opening takes of memory at its worst moment, for indices of every generation that are made to take as much
// as can be.
#include "index/walking.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/counted_memory.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using support::byte_vector;
using support::bytes;
using support::counts_memory;
using support::measure_memory;
using support::memory_use;
using support::sample;
using walking::mebibyte;
using ztensor::bytes_view;
using ztensor::errc;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::version;
namespace cbor = support::cbor;

} // namespace

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
    ztensor::version from;
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

/// The same in no order.
std::string scattered_name(std::size_t number, std::size_t count) {
    constexpr std::uint64_t prime = 611'953; // that divides no count
    return short_name(static_cast<std::size_t>(number * prime % count));
}

template <class Value>
bytes scattered_pairs(std::size_t count, Value&& value) {
    bytes out = cbor::head(cbor::major::map, count);
    for (std::size_t i = 0; i < count; ++i) {
        out += cbor::text(scattered_name(i, count)) + value(i);
    }
    return out;
}

/// A map that announces how many pairs it has, as one that does not.
bytes without_count(const bytes& map) {
    constexpr unsigned info_mask = 31, first_long = 24;
    const unsigned info = static_cast<unsigned char>(map[0]) & info_mask;
    const std::size_t head = info < first_long ? 1 : 1 + (std::size_t{1} << (info - first_long));
    return cbor::indefinite_head(cbor::major::map) + map.substr(head) + cbor::stop;
}

bytes root_of(ztensor::version from, const bytes& objects, const bytes& attributes = cbor::map()) {
    const bool is_1_0 = from == version::v1_0;
    return cbor::map{{"version", cbor::text(support::version_text(from))},
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

bytes tensor_0_1(const std::string& name) {
    return cbor::map{{"name", cbor::text(name)}, {"offset", cbor::number(64)}, {"size", cbor::number(0)},
                     {"dtype", cbor::text("")},  {"shape", cbor::array({})},   {"encoding", cbor::text("")}}
        .encoded();
}

/// Each takes as many records, or as much work, for as few bytes as its generation allows.
const hostile_index hostile_indexes[] = {
    {"many objects", version::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), cbor::map{{"a", empty_blob(0)}});
         return root_of(version::v1_2, named_pairs(size / 60, [&](std::size_t) { return object; }));
     }},
    {"many objects of one blob that is not empty", version::v1_2,
     [](std::size_t size) {
         const bytes blob =
             cbor::map{{"dtype", cbor::text("")}, {"offset", cbor::number(64)}, {"length", cbor::number(8)}};
         const bytes object = object_of(cbor::array({}), cbor::map{{"a", blob}});
         return root_of(version::v1_2, named_pairs(size / 60, [&](std::size_t) { return object; }));
     }},
    {"many components", version::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), named_pairs(4096, empty_blob));
         return root_of(version::v1_2, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many components of one letter", version::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), named_pairs(62, empty_blob));
         return root_of(version::v1_2, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many components of 1.0", version::v1_0,
     [](std::size_t size) {
         const bytes object = object_1_0_of(named_pairs(4096, empty_blob_1_0));
         return root_of(version::v1_0, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many components of 1.0, of one letter", version::v1_0,
     [](std::size_t size) {
         const bytes object = object_1_0_of(named_pairs(62, empty_blob_1_0));
         return root_of(version::v1_0, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many tensors of 0.1", version::v0_1,
     [](std::size_t size) {
         const std::size_t count = size / 50;
         bytes out = cbor::head(cbor::major::array, count);
         for (std::size_t i = 0; i < count; ++i) {
             out += tensor_0_1(short_name(i));
         }
         return out;
     }},
    {"shapes of 64 ones", version::v1_2,
     [](std::size_t size) {
         const bytes object =
             object_of(cbor::numbers(std::vector<std::uint64_t>(64, 1)), cbor::map{{"a", empty_blob(0)}});
         return root_of(version::v1_2, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"many tiny attributes", version::v1_2,
     [](std::size_t size) {
         return root_of(version::v1_2, cbor::map(), named_pairs(size / 6, [](std::size_t) { return cbor::null; }));
     }},
    {"objects of many tiny attributes", version::v1_2,
     [](std::size_t size) {
         const bytes attributes = named_pairs(1000, [](std::size_t) { return cbor::null; });
         const bytes object = cbor::map{{"shape", cbor::array({})},
                                        {"format", cbor::text("")},
                                        {"attributes", attributes},
                                        {"components", cbor::map{{"a", empty_blob(0)}}}};
         return root_of(version::v1_2, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"one attribute of many empty maps", version::v1_2,
     [](std::size_t size) {
         const bytes maps = cbor::head(cbor::major::array, size) + support::repeated(size, "\xa0");
         return root_of(version::v1_2, cbor::map(), cbor::map{{"k", maps}});
     }},
    {"names in chunks of one byte", version::v1_2,
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
         return root_of(version::v1_2, objects);
     }},
    {"objects of 1.1 in an indefinite map", version::v1_1,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), cbor::map{{"a", empty_blob(0)}});
         return root_of(version::v1_1, without_count(named_pairs(size / 60, [&](std::size_t) { return object; })));
     }},
    {"objects in no order", version::v1_1,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), cbor::map{{"a", empty_blob(0)}});
         return root_of(version::v1_1, scattered_pairs(size / 62, [&](std::size_t) { return object; }));
     }},
    {"indefinite maps of components", version::v1_2,
     [](std::size_t size) {
         const bytes object = object_of(cbor::array({}), without_count(named_pairs(62, empty_blob)));
         return root_of(version::v1_2,
                        without_count(named_pairs(size / object.size(), [&](std::size_t) { return object; })));
     }},
    {"indefinite maps of components of 1.0", version::v1_0,
     [](std::size_t size) {
         const bytes object = object_1_0_of(without_count(named_pairs(62, empty_blob_1_0)));
         return root_of(version::v1_0, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"blobs of 1.0 that are not empty", version::v1_0,
     [](std::size_t size) {
         const bytes object = object_1_0_of(named_pairs(62, [](std::size_t) {
             return cbor::map{{"offset", cbor::number(64)}, {"length", cbor::number(8)}}.encoded();
         }));
         return root_of(version::v1_0, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"components in no order", version::v1_0,
     [](std::size_t size) {
         const bytes object = object_1_0_of(scattered_pairs(4096, empty_blob_1_0));
         return root_of(version::v1_0, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"components behind a key in chunks", version::v1_0,
     [](std::size_t size) {
         const bytes object =
             cbor::map{{"dtype", cbor::text("")}, {"shape", cbor::array({})}, {"format", cbor::text("")}}.add(
                 cbor::chunked({"comp", "onents"}), named_pairs(62, empty_blob_1_0));
         return root_of(version::v1_0, named_pairs(size / object.size(), [&](std::size_t) { return object; }));
     }},
    {"one component, then many", version::v1_0,
     [](std::size_t size) {
         const bytes many = object_1_0_of(named_pairs(62, empty_blob_1_0));
         const bytes one = object_1_0_of(named_pairs(1, empty_blob_1_0));
         return root_of(version::v1_0,
                        named_pairs(size / many.size(), [&](std::size_t i) { return i == 0 ? one : many; }));
     }},
    {"many components, then one", version::v1_0,
     [](std::size_t size) {
         const bytes many = object_1_0_of(named_pairs(62, empty_blob_1_0));
         const bytes one = object_1_0_of(named_pairs(1, empty_blob_1_0));
         return root_of(version::v1_0,
                        named_pairs(size / (one.size() + 4), [&](std::size_t i) { return i == 0 ? many : one; }));
     }},
    {"many components, then one, in no order", version::v1_0,
     [](std::size_t size) {
         const bytes many = object_1_0_of(named_pairs(62, empty_blob_1_0));
         const bytes one = object_1_0_of(named_pairs(1, empty_blob_1_0));
         return root_of(version::v1_0,
                        scattered_pairs(size / (one.size() + 4), [&](std::size_t i) { return i == 0 ? many : one; }));
     }},
    {"many components in the last object but one of many", version::v1_0,
     [](std::size_t size) {
         const bytes many = object_1_0_of(named_pairs(4096, empty_blob_1_0));
         const bytes one = object_1_0_of(named_pairs(1, empty_blob_1_0));
         const std::size_t count = size / (one.size() + 4);
         return root_of(version::v1_0, named_pairs(count, [&](std::size_t i) { return i + 2 == count ? many : one; }));
     }},
    {"tiny attributes in no order", version::v1_2,
     [](std::size_t size) {
         return root_of(version::v1_2, cbor::map(), scattered_pairs(size / 6, [](std::size_t) { return cbor::null; }));
     }},
    {"tiny attributes in an indefinite map in no order", version::v1_1,
     [](std::size_t size) {
         return root_of(version::v1_1, cbor::map(),
                        without_count(scattered_pairs(size / 6, [](std::size_t) { return cbor::null; })));
     }},
    {"tensors of 0.1 in an indefinite array", version::v0_1,
     [](std::size_t size) {
         bytes out = cbor::indefinite_head(cbor::major::array);
         for (std::size_t i = 0; i < size / 50; ++i) {
             out += tensor_0_1(short_name(i));
         }
         return out + cbor::stop;
     }},
    {"tensors of 0.1 with deep arrays", version::v0_1,
     [](std::size_t size) {
         const bytes deep = support::repeated(60, "\x81") + cbor::number(1);
         const std::size_t count = size / 120;
         bytes out = cbor::head(cbor::major::array, count);
         for (std::size_t i = 0; i < count; ++i) {
             out += cbor::map{
                 {"name", cbor::text(short_name(i))},
                 {"offset", cbor::number(64)},
                 {"size", cbor::number(0)},
                 {"dtype", cbor::text("")},
                 {"shape", cbor::array({})},
                 {"encoding", cbor::text("")},
                 {"x",
                  deep}}.encoded();
         }
         return out;
     }},
    {"custom keys of one tensor of 0.1, in no order", version::v0_1,
     [](std::size_t size) {
         bytes pairs = tensor_0_1("w").substr(1);
         const std::size_t count = size / 6;
         for (std::size_t i = 0; i < count; ++i) {
             pairs += cbor::text(scattered_name(i, count)) + cbor::null;
         }
         return cbor::head(cbor::major::array, 1) + cbor::head(cbor::major::map, 6 + count) + pairs;
     }},
    {"unknown fields of one object", version::v1_2,
     [](std::size_t size) {
         sample file;
         for (std::size_t i = 0; i < size / 6; ++i) {
             file.object_map().add(cbor::text(short_name(i)), cbor::null);
         }
         return file.index();
     }},
};

} // namespace

TEST_CASE("opening a file takes at most four times its index, and 1 MiB, whatever the index is made of") {
    for (const hostile_index& each : hostile_indexes) {
        CAPTURE(each.what);
        const bytes index = each.make(counts_memory ? 4'000'000 : 400'000);
        const std::vector<bytes> blobs = {bytes(8, 'x')};
        const byte_vector memory = support::to_vector(each.from == version::v0_1   ? support::file_0_1(index, blobs)
                                                      : each.from == version::v1_0 ? support::file_1_0(index, blobs)
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
            CHECK(use.most <= 4 * index.size() + mebibyte);
        }
    }
}

namespace {

struct lie {
    const char* what;
    ztensor::version from;
    bytes object;         ///< with its name
    std::uint64_t counts; ///< one in how many bytes of the index is announced
};

const lie lies[] = {
    {"objects", version::v1_2, cbor::text("a") + object_of(cbor::array({}), cbor::map{{"a", empty_blob(0)}}), 3},
    {"objects of 1.0 with many components", version::v1_0,
     cbor::text("a") + object_1_0_of(named_pairs(62, empty_blob_1_0)), 3},
    {"objects of 1.0", version::v1_0, cbor::text("a") + object_1_0_of(named_pairs(1, empty_blob_1_0)), 3},
    {"tensors of 0.1", version::v0_1, tensor_0_1("a"), 2},
};

} // namespace

TEST_CASE("an index that announces more than it holds is refused in memory of at most four times its size and 1 MiB") {
    for (const lie& each : lies) {
        for (const bool has_one_giant : {false, true}) {
            CAPTURE(each.what, has_one_giant);
            const std::size_t size = counts_memory ? 4'000'000 : 400'000;
            const bool is_0_1 = each.from == version::v0_1;
            bytes objects = cbor::head(is_0_1 ? cbor::major::array : cbor::major::map, size / each.counts);
            if (has_one_giant && !is_0_1) {
                const auto blob = each.from == version::v1_0 ? &empty_blob_1_0 : &empty_blob;
                const bytes giant = named_pairs(4096, blob);
                objects += cbor::text("b") +
                           (each.from == version::v1_0 ? object_1_0_of(giant) : object_of(cbor::array({}), giant));
            }
            while (objects.size() < size) {
                objects += each.object;
            }
            const bytes index = is_0_1 ? objects : root_of(each.from, objects);
            const byte_vector memory = support::to_vector(is_0_1                       ? support::file_0_1(index)
                                                          : each.from == version::v1_0 ? support::file_1_0(index)
                                                                                       : support::file_1(index));
            bool is_refused = false;
            const memory_use use = measure_memory([&] {
                result<reader> file = reader::from_bytes(bytes_view(memory));
                is_refused = !file;
                return file;
            });
            CHECK(is_refused);
            CAPTURE(index.size(), use.most);
            CHECK(use.most <= 4 * index.size() + mebibyte);
        }
    }
}

TEST_CASE("objects beyond read_options::max_objects are refused before there is room for them") {
    const bytes object = object_of(cbor::array({}), cbor::map{{"a", empty_blob(0)}});
    const bytes index = root_of(version::v1_2, named_pairs(50'000, [&](std::size_t) { return object; }));
    const byte_vector memory = support::to_vector(support::file_1(index));
    const memory_use use = measure_memory([&] {
        result<reader> file = reader::from_bytes(bytes_view(memory), read_options().max_objects(10));
        CHECK(file.error().code() == errc::limit_exceeded);
        return file;
    });
    CAPTURE(index.size());
    CHECK(use.most <= index.size() + mebibyte);
}
