// SPDX-License-Identifier: MIT
//
// Pairs that nobody looks at when a file is opened: in whatever rows they are passed over, all are there, none stands
// twice, and none reaches beyond the index.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/reader.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using support::bytes;
using support::opened;
using support::sample;
using ztensor::errc;
namespace cbor = support::cbor;

struct named_value {
    std::string name;
    bytes encoded_name;
    bytes value;
};

/// A name that no other number gives: short or long, of the size of a field, in chunks, or not ASCII.
named_value pair_of(std::mt19937& dice, std::size_t number) {
    const std::string digits = std::to_string(10 + number);
    const std::vector<std::string> names = {
        digits,
        "k" + digits,
        "off" + digits + "x",
        std::string(21, 'n') + digits,
        std::string(22, 'n') + digits,
        "zoë" + digits,
        "lengt" + digits,
        std::string(300, 'l') + digits,
    };
    const std::vector<bytes> values = {
        cbor::number(number),
        cbor::number(70000),
        cbor::minus_one_minus(3),
        cbor::null,
        cbor::half_one,
        cbor::text("short"),
        cbor::double_one,
        cbor::byte_string("\xff"),
        cbor::text(std::string(40, 't')),
        cbor::array({}),
        cbor::chunked({"a", "b"}),
        cbor::map{{"in", cbor::array({cbor::number(1)})}},
    };
    // Mostly plain ones, as in files: so that rows of them begin and end at any place.
    const std::size_t kind = dice() % 3 != 0 ? dice() % 2 : dice() % names.size();
    const std::string& name = names[kind];
    const bool is_chunked = dice() % 10 == 0;
    return {name, is_chunked ? cbor::chunked({name.substr(0, 1), name.substr(1)}) : cbor::text(name),
            values[dice() % 3 != 0 ? dice() % 6 : dice() % values.size()]};
}

std::vector<named_value> some_pairs(std::mt19937& dice) {
    std::vector<named_value> pairs(dice() % 14);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        pairs[i] = pair_of(dice, i);
    }
    std::shuffle(pairs.begin(), pairs.end(), dice);
    return pairs;
}

cbor::map map_of(const std::vector<named_value>& pairs) {
    cbor::map out;
    for (const named_value& each : pairs) {
        out.add(each.encoded_name, each.value);
    }
    return out;
}

errc code_of(const bytes& file) {
    const auto opened = support::open_bytes(file);
    REQUIRE(!opened);
    return opened.error().code();
}

} // namespace

TEST_CASE("attributes of any kind in any order are all there") {
    std::mt19937 dice(20261123);
    for (int round = 0; round < 400; ++round) {
        CAPTURE(round);
        const std::vector<named_value> pairs = some_pairs(dice);
        sample file;
        file.object("attributes", round % 2 == 0 ? map_of(pairs).encoded() : map_of(pairs).indefinite());
        const ztensor::reader model = opened(file.file());
        std::vector<std::pair<std::string, bytes>> expected, found;
        for (const named_value& each : pairs) {
            expected.emplace_back(each.name, each.value);
        }
        for (const ztensor::attribute each : model.find("w")->attributes()) {
            found.emplace_back(each.key, support::as_string(each.cbor));
        }
        CHECK(found == expected);
    }
}

TEST_CASE("a key that nobody knows is found a second time, whatever stands between") {
    std::mt19937 dice(20261124);
    for (int round = 0; round < 400; ++round) {
        CAPTURE(round);
        std::vector<named_value> pairs = some_pairs(dice);
        const auto in_each_map = [&](const auto& look) {
            const bytes encoded = map_of(pairs).encoded();
            look(sample().object("attributes", round % 2 == 0 ? encoded : map_of(pairs).indefinite()).file());
            sample in_object, in_component, in_root;
            for (const named_value& each : pairs) {
                in_object.object_map().add(each.encoded_name, each.value);
                in_component.component_map().add(each.encoded_name, each.value);
                in_root.root_map().add(each.encoded_name, each.value);
            }
            look(in_object.file());
            look(in_component.file());
            look(in_root.file());
        };
        in_each_map([](const bytes& file) { CHECK(support::data_of(opened(file)).stored_bytes() == 8); });
        if (!pairs.empty()) {
            pairs.insert(pairs.begin() + static_cast<std::ptrdiff_t>(dice() % (pairs.size() + 1)),
                         named_value(pairs[dice() % pairs.size()]));
            in_each_map([](const bytes& file) { CHECK(code_of(file) == errc::duplicate_key); });
        }
    }
}

TEST_CASE("a field among unknown keys is read, and stands once") {
    for (const char* const field : {"shape", "format"}) {
        CAPTURE(field);
        sample file;
        for (int i = 0; i < 5; ++i) {
            file.object_map().add(cbor::text("unknown." + std::to_string(i)), cbor::number(1));
        }
        file.object_map().add(cbor::text(field), cbor::number(1)).add(cbor::text("other"), cbor::number(1));
        CHECK(code_of(file.file()) == errc::duplicate_key);
    }
}

TEST_CASE("an index that ends within a row of pairs is refused wherever it ends") {
    cbor::map pairs;
    for (int i = 0; i < 6; ++i) {
        pairs.add(cbor::text("name." + std::to_string(i)), i % 2 == 0 ? cbor::number(70000) : cbor::text("text"));
    }
    const bytes row = pairs.encoded().substr(1); // without its head, which says more pairs than there are
    for (std::size_t kept = 0; kept <= row.size(); ++kept) {
        for (const bool is_attributes : {true, false}) {
            CAPTURE(kept, is_attributes);
            sample file;
            bytes index = cbor::map{{"version", cbor::text("1.2.0")}, {"objects", cbor::map()}}.encoded();
            index[0] = '\xa3';
            index += is_attributes ? cbor::text("attributes") + "\xa7" : cbor::text("unknown") + "\xf6";
            index[0] = is_attributes ? '\xa3' : '\xb7'; // 23 pairs
            CHECK(code_of(file.file_of(index + row.substr(0, kept))) == errc::cbor_truncated);
        }
    }
}
