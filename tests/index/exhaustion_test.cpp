// SPDX-License-Identifier: MIT
//
// Files made to exhaust a reader: refused on little stack, and opened in memory that the index bounds.
#include "index/walking.hpp"
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
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
using ztensor::version;
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
