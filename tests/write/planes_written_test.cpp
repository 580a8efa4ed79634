// SPDX-License-Identifier: MIT
//
// Tensors stored in planes: never larger than what zstd makes of them, in pieces as at once, dense where planes don't
// pay or are not to be had, and what is refused.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/plane_content.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace planes_written {

using support::bytes;
using support::outcome;
using support::refusal;
using ztensor::attributes;
using ztensor::digest;
using ztensor::dtype;
using ztensor::errc;
using ztensor::format_version;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
using ztensor::store;
using ztensor::tensor_stream;
using ztensor::write_options;
using ztensor::writer;

constexpr format_version versions[] = {format_version::v1_1, format_version::v1_2, format_version::v2};

reader file_with(dtype type, const bytes& elements, const store& how, const write_options& options = {}) {
    return support::reopened(options, [&](writer& out) {
        out.add_bytes("w", {elements.size() / ztensor::width_bytes(type)}, type, support::bytes_of(elements), how)
            .value();
    });
}

std::uint64_t stored_bytes(const reader& file) {
    std::uint64_t sum = 0;
    for (const ztensor::component_view component : file["w"]) {
        sum += component.stored_bytes();
    }
    return sum;
}

/// The elements, little-endian, however they are stored.
bytes elements_of(const reader& file) {
    return support::as_string(file["w"].data()->read_little_endian().value());
}

/// In planes the elements take no more than zstd makes of them, and come back.
void check_size(dtype type, const bytes& elements) {
    const reader planes = file_with(type, elements, store().planes());
    const reader zstd = file_with(type, elements, store().zstd(1));
    CHECK(static_cast<double>(stored_bytes(planes)) <= 1.005 * static_cast<double>(stored_bytes(zstd)));
    CHECK((elements_of(planes) == elements));
}

bool is_in_planes(const reader& file) {
    return file["w"].format().original() == "ztensor-cpp.planes/1";
}

/// 40,000 elements of bf16.
result<tensor_stream> begin(writer& out, const store& how, const ztensor::object_attributes& about = {}) {
    return out.stream("w", {200, 200}, dtype::bf16, how, about);
}
const bytes& some_weights() {
    static const bytes made = support::planes::weights(dtype::bf16, 40000);
    return made;
}

} // namespace planes_written

} // namespace

TEST_CASE("planes take no more than zstd takes for the same elements") {
    using namespace planes_written;
    for (const dtype type : support::planes::types) {
        for (const std::size_t count : {std::size_t{50000}, std::size_t{1300000}}) {
            for (const support::planes::content& each : support::planes::contents(type, count)) {
                CAPTURE(name(type), count, each.name);
                check_size(type, each.elements);
            }
        }
    }
}

TEST_CASE("zeros that lie at the same place in each of sixteen slabs are seen before planes are chosen") {
    using namespace planes_written;
    bytes slab = support::planes::weights(dtype::f32, 262144);
    std::fill(slab.begin() + 360000, slab.begin() + 690000, '\0'); // more than zstd looks back from the slab's ends
    bytes elements;
    for (int i = 0; i < 16; ++i) {
        elements += slab;
    }
    check_size(dtype::f32, elements);
}

TEST_CASE("rows that come again are seen however few of them zstd looks back at") {
    using namespace planes_written;
    for (const std::size_t row_elements : {std::size_t{20000}, std::size_t{200000}}) {
        const bytes rows = support::planes::weights(dtype::f16, 4 * row_elements);
        std::mt19937 random(11);
        bytes elements;
        while (elements.size() < (std::size_t{9} << 20)) {
            elements += rows.substr(random() % 4 * 2 * row_elements, 2 * row_elements);
        }
        CAPTURE(row_elements);
        check_size(dtype::f16, elements);
    }
}

TEST_CASE("weights take two thirds of their size as bf16 and five sixths as f32") {
    using namespace planes_written;
    const auto share = [](dtype type) {
        const bytes elements = support::planes::weights(type, 300000);
        const reader file = file_with(type, elements, store().planes());
        CHECK(is_in_planes(file));
        return static_cast<double>(stored_bytes(file)) / static_cast<double>(elements.size());
    };
    CHECK(share(dtype::bf16) < 0.68);
    CHECK(share(dtype::f32) < 0.85);
    CHECK(share(dtype::f16) < 0.88);
}

TEST_CASE("planes written by several threads are those that one writes") {
    using namespace planes_written;
    const bytes elements = support::planes::weights(dtype::bf16, 3300000);
    for (const format_version version : versions) {
        const auto written = [&](unsigned threads) {
            return support::written(write_options().version(version).threads(threads), [&](writer& out) {
                out.add_bytes("w", {3300000}, dtype::bf16, support::bytes_of(elements), store().planes()).value();
            });
        };
        CHECK((written(1) == written(3)));
    }
}

TEST_CASE("elements in the host's order and bytes in the file's are the same planes") {
    using namespace planes_written;
    const bytes elements = support::planes::weights(dtype::f32, 50000);
    const std::vector<float> numbers = support::elements_from<float>(elements);
    const reader file =
        support::reopened({}, [&](writer& out) { out.add("w", {50000}, numbers, store().planes()).value(); });
    CHECK(is_in_planes(file));
    CHECK((elements_of(file) == elements));
    CHECK((support::memory_of(file.read<float>("w").value()) == support::memory_of(numbers)));
}

TEST_CASE("planes that are wanted only where they pay are raw where they don't") {
    using namespace planes_written;
    const bytes noisy = support::as_string(support::noise(200000));
    for (const dtype type : support::planes::types) {
        for (const format_version version : versions) {
            CAPTURE(name(type), static_cast<int>(version));
            const write_options options = write_options().version(version);
            const reader raw = file_with(type, noisy, store().planes_if_smaller(), options);
            CHECK_FALSE(is_in_planes(raw));
            CHECK(raw["w"]["data"].encoding() == ztensor::encoding::raw);
            CHECK(stored_bytes(raw) == noisy.size());
            const bytes weights = support::planes::weights(type, 60000);
            CHECK(is_in_planes(file_with(type, weights, store().planes_if_smaller(), options)));
            const reader never = file_with(type, weights, store().planes_if_smaller(0.1), options);
            CHECK_FALSE(is_in_planes(never));
            CHECK(never["w"]["data"].encoding() == ztensor::encoding::raw);
            CHECK((elements_of(never) == weights));
        }
    }
}

TEST_CASE("of what takes more than 4 MiB a look tells whether planes pay, and what is odd is tried in all ways") {
    using namespace planes_written;
    const bytes weights = support::planes::weights(dtype::bf16, std::size_t{3} << 20);
    CHECK(is_in_planes(file_with(dtype::bf16, weights, store().planes_if_smaller(0.8))));
    const reader raw = file_with(dtype::bf16, weights, store().planes_if_smaller(0.5));
    CHECK_FALSE(is_in_planes(raw));
    CHECK(stored_bytes(raw) == weights.size());
    bytes sparse = support::planes::weights(dtype::f32, std::size_t{3} << 20);
    std::fill_n(sparse.begin() + 2000000, sparse.size() / 9, '\0');
    check_size(dtype::f32, sparse);
}

TEST_CASE("a tensor that is stored as a whole in place of planes keeps its attributes") {
    using namespace planes_written;
    const bytes noisy = support::as_string(support::noise(200000));
    attributes note;
    note.set("note", "kept");
    const reader file = support::reopened(write_options(), [&](writer& out) {
        out.add_bytes("large", {100000}, dtype::bf16, support::bytes_of(noisy), store().planes_if_smaller(0.9), note)
            .value();
        out.add_bytes("small", {10}, dtype::bf16, support::bytes_of(noisy).first(20), store().planes_if_smaller(0.9),
                      note)
            .value();
    });
    for (const ztensor::object_view object : file) {
        CAPTURE(object.name());
        CHECK_FALSE(object.is_in_planes());
        CHECK(object["data"].encoding() == ztensor::encoding::raw);
        CHECK(object.attributes().text("note").value() == "kept");
    }
}

TEST_CASE("small tensors, and those of types that have no planes, are dense") {
    using namespace planes_written;
    const reader file = support::reopened(write_options(), [](writer& out) {
        const std::vector<float> numbers(40000, 1.5f);
        out.add("none", {0}, std::vector<float>{}, store().planes()).value();
        out.add("one", {}, std::vector<float>{1}, store().planes()).value();
        out.add("small", {16383}, std::vector<float>(16383, 0.1f), store().planes()).value();
        out.add("double", {40000}, std::vector<double>(40000, 0.1), store().planes()).value();
        out.add("integers", {40000}, std::vector<std::uint16_t>(40000, 3), store().planes()).value();
        out.add("complex", {20000}, std::vector<std::complex<float>>(20000), store().planes()).value();
        out.add("8 bits", {90000}, std::vector<ztensor::float8_e4m3fn>(90000), store().planes()).value();
        tensor_stream stream = out.stream<float>("in pieces", {2, 2}, store().planes()).value();
        stream.append({1.0f, 2.0f, 3.0f, 4.0f}).value();
        stream.finish().value();
    });
    CHECK(file.size() == 8);
    for (const ztensor::object_view object : file) {
        CAPTURE(object.name());
        CHECK(object.format().original() == "dense");
        CHECK(object.size() == 1);
        CHECK_FALSE(object.has_attributes());
    }
    CHECK(file.read<float>("in pieces").value() == std::vector<float>{1, 2, 3, 4});
    CHECK(file.read<float>("one").value() == std::vector<float>{1});
    const bytes just_enough = support::planes::weights(dtype::f32, 16384);
    CHECK(is_in_planes(file_with(dtype::f32, just_enough, store().planes())));
}

TEST_CASE("a tensor streamed into planes is the one written at once, whatever its pieces") {
    using namespace planes_written;
    for (const dtype type : support::planes::types) {
        const std::size_t width = ztensor::width_bytes(type);
        const bytes elements = support::planes::weights(type, 40000);
        for (const format_version version : versions) {
            for (std::size_t size = 1; size < elements.size(); size = size * 3 + (size % 2 == 0 ? 1 : 0)) {
                CAPTURE(name(type), static_cast<int>(version), size);
                const reader file = support::reopened(write_options().version(version), [&](writer& out) {
                    tensor_stream stream =
                        out.stream("w", {40000}, type, store().planes().digest(digest::sha256)).value();
                    const std::size_t start = size < 9 ? elements.size() - 999 : 0; // tiny pieces only at the end
                    stream.append_bytes(support::bytes_of(elements).first(start)).value();
                    for (std::size_t at = start; at < elements.size(); at += size) {
                        CHECK(stream.missing_bytes() == elements.size() - at);
                        const std::size_t taken = std::min(size, elements.size() - at);
                        stream.append_bytes(support::bytes_of(elements).subspan(at, taken)).value();
                    }
                    stream.finish().value();
                });
                CHECK(is_in_planes(file));
                CHECK((elements_of(file) == elements));
                CHECK(file.verify().value().complete());
                const reader at_once = file_with(type, elements, store().planes(), write_options().version(version));
                CHECK(stored_bytes(file) <= stored_bytes(at_once) + elements.size() / width / 100);
            }
        }
    }
}

TEST_CASE("elements of every kind come back from planes that were streamed") {
    using namespace planes_written;
    for (const dtype type : support::planes::types) {
        for (const support::planes::content& each : support::planes::contents(type, 600000)) {
            for (const format_version version : {format_version::v1_2, format_version::v2}) {
                CAPTURE(name(type), each.name, static_cast<int>(version));
                const reader file = support::reopened(write_options().version(version), [&](writer& out) {
                    tensor_stream stream = out.stream("w", {600000}, type, store().planes()).value();
                    const std::size_t half = each.elements.size() / 2 + 1;
                    stream.append_bytes(support::bytes_of(each.elements).first(half)).value();
                    stream.append_bytes(support::bytes_of(each.elements).subspan(half)).value();
                    stream.finish().value();
                });
                CHECK((elements_of(file) == each.elements));
            }
        }
    }
}

TEST_CASE("attributes stand beside those of the layout, given at once, with a stream or through it") {
    using namespace planes_written;
    attributes given;
    given.set("a name that is longer than any of the layout", "first");
    given.set("z", std::uint64_t{7});
    for (const format_version version : versions) {
        for (const bool is_through_stream : {false, true}) {
            CAPTURE(static_cast<int>(version), is_through_stream);
            const reader file = support::reopened(write_options().version(version).any_order(), [&](writer& out) {
                const auto elements = support::bytes_of(some_weights());
                tensor_stream stream = is_through_stream ? begin(out, store().planes()).value()
                                                         : begin(out, store().planes(), given).value();
                stream.append_bytes(elements).value();
                if (is_through_stream) {
                    stream.attributes(given).value();
                }
                stream.finish().value();
                out.add_bytes("at once", {40000}, dtype::bf16, elements, store().planes(), given).value();
            });
            for (const char* const name : {"w", "at once"}) {
                const ztensor::attributes_view found = file[name].attributes();
                CHECK(found.size() == 2); // those of the layout are not shown
                CHECK(found.text("a name that is longer than any of the layout").value() == "first");
                CHECK(found.unsigned_integer("z").value() == 7);
                CHECK_FALSE(found.contains("planes.dtype"));
                CHECK(file[name].is_in_planes());
                CHECK(file[name].format() == ztensor::format::dense);
            }
        }
    }
}

TEST_CASE("a draft of a dense object is stored in planes as add() does it, and one component of another as zstd") {
    using namespace planes_written;
    for (const format_version version : versions) {
        const auto elements = support::bytes_of(some_weights());
        attributes note;
        note.set("note", "kept");
        const reader file = support::reopened(write_options().version(version).any_order(), [&](writer& out) {
            ztensor::object_draft dense(ztensor::format::dense, {40000});
            dense.component_bytes("data", dtype::bf16, elements, store().planes()).attributes(note);
            out.add_object("w", dense).value();
            ztensor::object_draft other("of.others/1", {40000});
            other.component_bytes("data", dtype::bf16, elements, store().planes());
            out.add_object("x", other).value();
            out.add_bytes("y", {40000}, dtype::bf16, elements, store().zstd(1)).value();
        });
        CHECK(file["w"].is_in_planes());
        CHECK(file["w"].attributes().text("note").value() == "kept");
        CHECK(elements_of(file) == some_weights());
        CHECK(file["x"].size() == 1);
        CHECK(file["x"]["data"].stored_bytes() == file["y"].data()->stored_bytes());
    }
}

TEST_CASE("attributes that the layout needs for itself are refused, and the writer goes on") {
    using namespace planes_written;
    for (const format_version version : versions) {
        for (const char* const key : {"planes.dtype", "planes.exponent_bits"}) {
            CAPTURE(static_cast<int>(version), key);
            attributes taken;
            taken.set(key, "f16");
            const auto elements = support::bytes_of(some_weights());
            writer out = support::to_memory(version);
            CHECK(refusal(out.add_bytes("w", {40000}, dtype::bf16, elements, store().planes(), taken)) ==
                  errc::duplicate_key);
            CHECK(refusal(begin(out, store().planes(), taken)) == errc::duplicate_key);
            tensor_stream stream = begin(out, store().planes()).value();
            CHECK(refusal(stream.attributes(taken)) == errc::duplicate_key);
            stream.append_bytes(elements).value();
            CHECK(outcome(stream.finish()) == "ok");
            CHECK(outcome(out.add_bytes("x", {40000}, dtype::bf16, elements, store(), taken)) == "ok");
            const reader file = support::opened(support::finished(out));
            CHECK(file.size() == 2);
            CHECK(elements_of(file) == some_weights());
        }
    }
}

TEST_CASE("a stream of planes that ends too early is told what is missing, and one that is dropped takes the file") {
    using namespace planes_written;
    for (const format_version version : versions) {
        const support::temp_dir directory;
        {
            writer out = writer::create(directory / "w.zt", write_options().version(version).sync(false)).value();
            tensor_stream stream = begin(out, store().planes()).value();
            stream.append_bytes(support::bytes_of(some_weights()).first(70001)).value();
            CHECK(refusal(stream.finish()) == errc::size_mismatch);
            CHECK(refusal(stream.append_bytes(support::bytes_of(some_weights()).first(10000))) == errc::size_mismatch);
            CHECK(refusal(stream.append(std::vector<float>{1})) == errc::type_mismatch);
            CHECK(refusal(out.finish()) == errc::writer_closed);
            CHECK(stream.missing_bytes() == 9999);
        }
        CHECK(directory.names().empty());
        writer out = support::to_memory(version);
        begin(out, store().planes()).value().append_bytes(support::bytes_of(some_weights()).first(70001)).value();
        CHECK(refusal(out.finish()) == errc::writer_closed);
    }
}

TEST_CASE("what planes are refused for is what a compressed tensor is refused for, and 0.1 has none") {
    using namespace planes_written;
    const auto elements = support::bytes_of(some_weights());
    for (const format_version version : versions) {
        writer out = support::to_memory(version);
        out.add("a", {1}, std::vector<float>{1}).value();
        for (const store& how : {store().zstd(1), store().planes()}) {
            CHECK(refusal(out.add_bytes("a", {40000}, dtype::bf16, elements, how)) == errc::duplicate_key);
            CHECK(refusal(out.add_bytes("b", {40001}, dtype::bf16, elements, how)) == errc::size_mismatch);
            CHECK(refusal(out.add_bytes("b", {~std::uint64_t{0}, 2}, dtype::bf16, elements, how)) ==
                  errc::shape_overflow);
            CHECK(refusal(out.add_bytes("\xff", {40000}, dtype::bf16, elements, how)) == errc::name_invalid);
            CHECK(refusal(out.add_bytes("b", {40000}, dtype::bf16, elements, store(how).big_endian())) ==
                  errc::not_expressible);
            CHECK(refusal(out.stream("a", {40000}, dtype::bf16, how)) == errc::duplicate_key);
            CHECK(refusal(out.stream("b", {~std::uint64_t{0}, 2}, dtype::bf16, how)) == errc::shape_overflow);
        }
        CHECK(support::opened(support::finished(out)).size() == 1);
    }
    writer old = support::to_memory(format_version::v0_1);
    CHECK(refusal(old.add_bytes("w", {40000}, dtype::bf16, elements, store().planes())) == errc::not_expressible);
    CHECK(refusal(begin(old, store().planes())) == errc::not_expressible);
    CHECK(outcome(old.add_bytes("w", {40000}, dtype::bf16, elements)) == "ok");
    CHECK(support::opened(support::finished(old)).size() == 1);
}
