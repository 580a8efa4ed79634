// SPDX-License-Identifier: MIT
//
// Dense tensors have a way of their own into a file. Whatever it is asked, it answers what add_object() answers, which
// judges by all the rules of reading: the same file, byte for byte, or the same refusal, word for word.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/writing.hpp"

#include <ztensor/object_draft.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

using support::byte_vector;
using ztensor::dtype;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::result;
using ztensor::shape;
using ztensor::store;
using ztensor::writer;

struct dense_case {
    std::string name;
    shape dimensions;
    dtype storage = dtype::f32;
    std::size_t size_bytes = 0;
    store how;
};

std::vector<std::string> names_to_try() {
    return {"w", "", "taken", std::string("a\0b", 3), "\xff", std::string(4096, 'n'), std::string(4097, 'n')};
}

std::vector<shape> shapes_to_try() {
    shape longest, too_long;
    for (int i = 0; i < 64; ++i) {
        longest.push_back(1);
        too_long.push_back(1);
    }
    too_long.push_back(1);
    return {{},
            {0},
            {4},
            {2, 2},
            {support::largest},
            {support::largest / 4},
            {support::two_to_63, 2},
            {0, support::two_to_63, 2},
            {0, support::two_to_63},
            longest,
            too_long};
}

std::vector<store> stores_to_try() {
    std::vector<store> stores = {store(),
                                 store().zstd(),
                                 store().zstd(99),
                                 store().big_endian(),
                                 store().big_endian().zstd(),
                                 store().digest(ztensor::digest::crc32c),
                                 store().digest(ztensor::digest::sha256).zstd_if_smaller()};
    for (const char* const type :
         {"f32", "u8", "complex64", "complex128", "f8_e4m3fn", "f8_e4m3fnuz", "q8.8", "\xff", "f8_e5m2"}) {
        stores.push_back(store().type(type));
    }
    stores.push_back(store().type("q8.8").zstd());
    store of_no_letters;
    ztensor::detail::draft_access::set_type(of_no_letters, "", true);
    stores.push_back(of_no_letters);
    return stores;
}

/// One answer for all: "ok" and the file, or everything that an error says.
std::string answer_of(format_version version, const support::write_call& call) {
    writer out = support::to_memory(version);
    out.add_bytes("taken", {1}, dtype::u8, byte_vector(1)).value();
    const result<void> added = call(out);
    if (!added) {
        const ztensor::error& why = added.error();
        return std::string(name(why.code())) + '|' + std::string(why.what()) + '|' + std::string(why.object()) + '|' +
               std::string(why.component());
    }
    out.finish().value();
    return "ok" + support::as_string(out.take_bytes());
}

} // namespace

TEST_CASE("a dense tensor is taken or refused as an object of one component is") {
    static const byte_vector zeros(64);
    static const byte_vector twos(64, std::byte{2});
    std::size_t taken = 0;
    std::size_t refused = 0;
    const auto compare = [&](const dense_case& each) {
        for (const format_version version : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
            for (const byte_vector* const content : {&zeros, &twos}) {
                if (content == &twos && each.storage != dtype::boolean) {
                    continue;
                }
                const ztensor::bytes_view bytes = ztensor::bytes_view(*content).first(each.size_bytes);
                const std::string direct = answer_of(version, [&](writer& out) {
                    return out.add_bytes(each.name, each.dimensions, each.storage, bytes, each.how);
                });
                const std::string general = answer_of(version, [&](writer& out) {
                    object_draft draft(ztensor::format::dense, each.dimensions);
                    return out.add_object(each.name, draft.component_bytes("data", each.storage, bytes, each.how));
                });
                CAPTURE(static_cast<int>(version), each.name, to_string(each.dimensions), each.size_bytes,
                        name(each.storage), each.how.type(), direct.substr(0, 300), general.substr(0, 300));
                REQUIRE((direct == general));
                ++(direct.substr(0, 2) == "ok" ? taken : refused);
            }
        }
    };
    for (const std::string& each : names_to_try()) {
        compare({each, {4}, dtype::f32, 16, {}});
        compare({each, {4}, dtype::f32, 12, {}}); // the name is refused first
    }
    const std::vector<store> stores = stores_to_try();
    for (const shape& dimensions : shapes_to_try()) {
        for (const dtype storage : {dtype::f32, dtype::u8, dtype::boolean}) {
            for (const std::size_t size_bytes : {std::size_t{0}, std::size_t{4}, std::size_t{16}, std::size_t{17}}) {
                for (const store& how : stores) {
                    if (how.encoding() == ztensor::encoding::raw || size_bytes == 16) {
                        compare({"w", dimensions, storage, size_bytes, how});
                    }
                }
            }
        }
    }
    CHECK(taken > 300);
    CHECK(refused > 1000);
}
