// SPDX-License-Identifier: MIT
//
// Tensors in planes, asked for in every way that a dense one can be: each way gives of them what it gives of the same
// elements stored raw, of every type, version and digest, from memory, from files and from far away, on one thread and
// on two.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/far_folder.hpp"
#include "support/openings.hpp"
#include "support/plane_content.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/writing.hpp"

#include <ztensor/load_plan.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace planes_read {

using support::bytes;
using support::memory_of;
using support::outcome;
using support::refusal;
using support::temp_dir;
using ztensor::digest;
using ztensor::dtype;
using ztensor::errc;
using ztensor::format_version;
using ztensor::load_options;
using ztensor::load_plan;
using ztensor::read_options;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

constexpr format_version versions[] = {format_version::v1_1, format_version::v1_2, format_version::v2};

struct tensor_content {
    dtype type;
    shape dimensions;
    bytes elements; ///< little-endian
};

tensor_content weights_of(dtype type, std::uint64_t rows, std::uint64_t columns) {
    return {type, {rows, columns}, support::planes::weights(type, static_cast<std::size_t>(rows * columns))};
}

/// A file of the same elements twice: "raw", and "w" in planes.
bytes file_with_both(const tensor_content& of, const write_options& options, const store& how) {
    return support::as_string(support::written(options, [&](writer& out) {
        const auto given = support::bytes_of(of.elements);
        out.add_bytes("raw", of.dimensions, of.type, given, store().digest(how.digest())).value();
        out.add_bytes("w", of.dimensions, of.type, given, store(how).planes()).value();
    }));
}

/// What a way of asking gave: bytes in memory, or the name of an error.
struct answer {
    bytes content;
    std::string code = "ok";

    friend bool operator==(const answer& a, const answer& b) { return a.content == b.content && a.code == b.code; }
};

template <class Elements>
answer of(const result<Elements>& asked) {
    return asked ? answer{memory_of(*asked)} : answer{"", outcome(asked)};
}
template <class Memory>
answer of(const result<void>& asked, const Memory& destination) {
    return asked ? answer{memory_of(destination)} : answer{"", outcome(asked)};
}
template <class Memory>
answer of(const result<ztensor::load_report>& asked, const Memory& destination) {
    return of(support::done(asked), destination);
}

struct way {
    const char* name;
    std::function<answer(const reader&, const char*)> ask;
};

std::size_t count_of(const reader& file, const char* name) {
    return static_cast<std::size_t>(file[name].element_count());
}

template <class T>
answer pieces_of(result<ztensor::component_pieces> pieces) {
    answer made;
    if (!pieces) {
        return {"", outcome(pieces)};
    }
    for (;;) {
        const auto next = pieces->next();
        if (!next || next->empty()) {
            return next ? made : answer{"", outcome(next)};
        }
        made.content += support::as_string(*next);
    }
}

template <class T>
answer planned(const reader& file, const ztensor::load_source& what, std::size_t count, const load_options& options) {
    std::vector<T> memory(count);
    return of(load_plan(file).add(what, memory).run(options), memory);
}

/// Rows that lie apart, the gaps between them included, which must stay as they are.
template <class T>
answer planned_apart(const reader& file, const char* name) {
    const shape dimensions = file[name].shape();
    const auto rows = static_cast<std::size_t>(dimensions[0]), columns = static_cast<std::size_t>(dimensions[1]);
    std::vector<T> memory(rows * (columns + 3));
    return of(load_plan(file).add(name, ztensor::into(memory.data(), (columns + 3) * sizeof(T))).run(), memory);
}

template <class To>
answer converted_by_plan(const reader& file, const ztensor::load_source& what, std::size_t count) {
    std::vector<To> memory(count);
    return of(load_plan(file).add_as(what, memory).run(), memory);
}

template <class To>
std::vector<way> ways_to_convert() {
    constexpr dtype to = ztensor::element_traits<To>::storage;
    return {
        {"read_as", [](const reader& file, const char* name) { return of(file.read_as<To>(name)); }},
        {"load_as", [](const reader& file, const char* name) { return of(file.load_as<To>(name)); }},
        {"read_as_into",
         [](const reader& file, const char* name) {
             std::vector<To> memory(count_of(file, name));
             return of(file.read_as_into(name, memory), memory);
         }},
        {"rows as",
         [](const reader& file, const char* name) { return of(file[name].rows(3, 11).template read_as<To>()); }},
        {"slice as",
         [](const reader& file, const char* name) {
             return of(file[name].slice({{1, 30}, {5, 77}}).template read_as<To>());
         }},
        {"plan as",
         [](const reader& file, const char* name) { return converted_by_plan<To>(file, name, count_of(file, name)); }},
        {"plan of rows as",
         [](const reader& file, const char* name) {
             const auto rows = file[name].rows(2, 5);
             return converted_by_plan<To>(file, rows, static_cast<std::size_t>(3 * file[name].shape()[1]));
         }},
        {"pieces as",
         [](const reader& file, const char* name) {
             return pieces_of<To>(ztensor::component_pieces::open_as(file[name], to));
         }},
        {"pieces of data as",
         [](const reader& file, const char* name) {
             return pieces_of<To>(ztensor::component_pieces::open_as(file[name].data().value(), to));
         }},
    };
}

/// Of elements of T, or of a type that refuses T.
template <class T>
std::vector<way> ways_to_read() {
    return {
        {"read", [](const reader& file, const char* name) { return of(file.read<T>(name)); }},
        {"load", [](const reader& file, const char* name) { return of(file.load<T>(name)); }},
        {"acquire", [](const reader& file, const char* name) { return of(file.acquire<T>(name)); }},
        {"read another shape",
         [](const reader& file, const char* name) {
             return of(file.read<T>(name, {1, 2}));
         }},
        {"read_into",
         [](const reader& file, const char* name) {
             std::vector<T> memory(count_of(file, name));
             return of(file.read_into(name, memory), memory);
         }},
        {"read_into too little",
         [](const reader& file, const char* name) {
             std::vector<T> memory(count_of(file, name) - 1);
             return of(file.read_into(name, memory), memory);
         }},
        {"data", [](const reader& file, const char* name) { return of(file[name].data().value().read<T>()); }},
        {"[data]", [](const reader& file, const char* name) { return of(file[name]["data"].read<T>()); }},
        {"rows", [](const reader& file, const char* name) { return of(file[name].rows(1, 20).template read<T>()); }},
        {"no rows", [](const reader& file, const char* name) { return of(file[name].rows(7, 7).template read<T>()); }},
        {"rows that are not there",
         [](const reader& file, const char* name) {
             return of(file[name].rows(0, file[name].shape()[0] + 1).template read<T>());
         }},
        {"slice",
         [](const reader& file, const char* name) {
             return of(file[name].slice({{2, 40}, {17, 90}}).template read<T>());
         }},
        {"slice of nothing",
         [](const reader& file, const char* name) {
             return of(file[name].slice({{2, 2}, {17, 90}}).template read<T>());
         }},
        {"one element",
         [](const reader& file, const char* name) {
             return of(file[name].slice({{39, 40}, {77, 78}}).template read<T>());
         }},
        {"a column",
         [](const reader& file, const char* name) {
             return of(file[name].slice({{0, file[name].shape()[0]}, {8, 9}}).template read<T>());
         }},
        {"part", [](const reader& file,
                    const char* name) { return of(file[name].data().value().part(3, 9, 20).template read<T>()); }},
        {"a part of one element",
         [](const reader& file, const char* name) {
             const std::uint64_t count = count_of(file, name);
             return of(file[name].data().value().part(count - 1, count, count).template read<T>());
         }},
        {"plan", [](const reader& file,
                    const char* name) { return planned<T>(file, name, count_of(file, name), load_options()); }},
        {"plan with little memory",
         [](const reader& file, const char* name) {
             return planned<T>(file, name, count_of(file, name), load_options().max_staging_bytes(12 << 20));
         }},
        {"plan of rows",
         [](const reader& file, const char* name) {
             const auto rows = file[name].rows(5, 8);
             return planned<T>(file, rows, static_cast<std::size_t>(3 * file[name].shape()[1]), load_options());
         }},
        {"plan of a slice",
         [](const reader& file, const char* name) {
             const auto slice = file[name].slice({{4, 9}, {10, 20}});
             return planned<T>(file, slice, 50, load_options());
         }},
        {"plan into rows that lie apart",
         [](const reader& file, const char* name) { return planned_apart<T>(file, name); }},
        {"pieces",
         [](const reader& file, const char* name) {
             return pieces_of<T>(ztensor::component_pieces::open(file[name].data().value()));
         }},
    };
}

/// Of elements of any type.
std::vector<way> other_ways() {
    return {
        {"bytes", [](const reader& file, const char* name) { return of(file[name].data().value().read<std::byte>()); }},
        {"some bytes that are no elements",
         [](const reader& file, const char* name) {
             const std::uint64_t size = file[name].data()->decoded_bytes().value();
             return of(file[name].data().value().part(1, 4001, size).read<std::byte>());
         }},
        {"read_little_endian",
         [](const reader& file, const char* name) { return of(file[name].data().value().read_little_endian()); }},
        {"read_all",
         [](const reader& file, const char* name) {
             const auto all = ztensor::read_all(file).value();
             for (const ztensor::loaded_tensor& each : all) {
                 if (each.object.name() == name) {
                     return answer{memory_of(each.bytes)};
                 }
             }
             return answer{"", "it is not there"};
         }},
        {"shape", [](const reader& file, const char* name) { return answer{to_string(file[name].shape())}; }},
        {"what it is",
         [](const reader& file, const char* name) {
             const ztensor::object_view object = file[name];
             const ztensor::component_view data = object.data().value();
             return answer{std::string(object.format() == ztensor::format::dense ? "dense " : "") +
                           std::string(object.dtype().original()) + " " + std::string(data.dtype().original()) +
                           (object.type().is_present() ? " typed" : "") + (data.type().is_present() ? " typed" : "")};
         }},
    };
}

void check_ways(const std::vector<way>& ways, const reader& file) {
    for (const way& each : ways) {
        CAPTURE(each.name);
        const answer expected = each.ask(file, "raw");
        const answer found = each.ask(file, "w");
        CHECK(found.code == expected.code);
        CHECK((found == expected));
    }
}

template <class T>
void check_all_ways(const reader& file) {
    REQUIRE(file["w"].size() == 2);
    check_ways(ways_to_read<T>(), file);
    check_ways(other_ways(), file);
    check_ways(ways_to_convert<float>(), file);
    check_ways(ways_to_convert<double>(), file);
    check_ways(ways_to_convert<ztensor::float16>(), file);
    check_ways(ways_to_convert<ztensor::bfloat16>(), file);
}

void check_all_ways(dtype type, const reader& file) {
    switch (type) {
    case dtype::bf16:
        return check_all_ways<ztensor::bfloat16>(file);
    case dtype::f16:
        return check_all_ways<ztensor::float16>(file);
    default:
        return check_all_ways<float>(file);
    }
}

/// What verifying says, or the error.
std::string verdict(const ztensor::component_view& component) {
    const auto state = component.verify();
    return !state                                      ? outcome(state)
           : *state == ztensor::digest_state::mismatch ? "mismatch"
           : *state == ztensor::digest_state::match    ? "match"
                                                       : "absent";
}

/// Every way to open it.
void check_openings(const tensor_content& content, const bytes& file, const read_options& options) {
    const temp_dir directory;
    for (const support::opening& each : support::open_every_way(file, directory, options)) {
        CAPTURE(each.way);
        check_all_ways(content.type, each.file.value());
    }
    CAPTURE("far folder");
    check_all_ways(content.type, support::open_far(directory / "file.zt", options).value());
}

} // namespace planes_read

} // namespace

TEST_CASE("a tensor in planes is the dense tensor that it is in every way to read it") {
    using namespace planes_read;
    for (const dtype type : support::planes::types) {
        const tensor_content content = weights_of(type, 401, 103);
        for (const format_version version : versions) {
            for (const digest each : {digest::none, digest::crc32c, digest::sha256}) {
                if (version == format_version::v2 && each == digest::crc32c) { // which version 2 does not have
                    continue;
                }
                const bytes file = file_with_both(content, write_options().version(version), store().digest(each));
                for (const unsigned threads : {1U, 2U}) {
                    CAPTURE(name(type), static_cast<int>(version), static_cast<int>(each), threads);
                    check_openings(content, file, read_options().threads(threads));
                }
            }
        }
    }
}

TEST_CASE("a large tensor in planes is decoded by several threads to what it is") {
    using namespace planes_read;
    for (const dtype type : {dtype::bf16, dtype::f32}) {
        const tensor_content content = weights_of(type, 1201, 1103);
        for (const format_version version : {format_version::v1_2, format_version::v2}) {
            const bytes file =
                file_with_both(content, write_options().version(version), store().digest(digest::sha256));
            const temp_dir directory;
            for (const support::opening& each : support::open_every_way(file, directory, read_options().threads(2))) {
                CAPTURE(name(type), static_cast<int>(version), each.way);
                const reader& opened = each.file.value();
                check_ways(type == dtype::f32 ? ways_to_read<float>() : ways_to_read<ztensor::bfloat16>(), opened);
                check_ways(ways_to_convert<float>(), opened);
            }
        }
    }
}

TEST_CASE("elements of every kind come back from planes bit for bit") {
    using namespace planes_read;
    for (const dtype type : support::planes::types) {
        for (const support::planes::content& each : support::planes::contents(type, 200000)) {
            for (const format_version version : versions) {
                CAPTURE(name(type), each.name, static_cast<int>(version));
                const tensor_content content{type, {each.elements.size() / ztensor::width_bytes(type)}, each.elements};
                const reader file = support::opened(file_with_both(content, write_options().version(version), store()));
                CHECK((support::as_string(file["w"].data()->read_little_endian().value()) == each.elements));
                for (const bool is_double : {false, true}) {
                    CHECK((is_double ? of(file.read_as<double>("w")) == of(file.read_as<double>("raw"))
                                     : of(file.read_as<float>("w")) == of(file.read_as<float>("raw"))));
                }
            }
        }
    }
}

TEST_CASE("what is in planes is two components of bytes to whoever goes through them") {
    using namespace planes_read;
    for (const dtype type : support::planes::types) {
        const tensor_content content = weights_of(type, 100, 400);
        const std::size_t width = ztensor::width_bytes(type);
        const support::planes::split expected = support::planes::split_of(content.elements, width);
        for (const format_version version : versions) {
            CAPTURE(name(type), static_cast<int>(version));
            const reader file = support::opened(file_with_both(content, write_options().version(version), store()));
            const ztensor::object_view object = file["w"];
            CHECK(object.format().original() == "ztensor-cpp.planes/1");
            std::vector<std::string> roles;
            for (const ztensor::component_view component : object) {
                roles.emplace_back(component.role());
                CHECK(component.dtype() == dtype::u8);
            }
            CHECK(roles == std::vector<std::string>{"exponent", "fraction"});
            CHECK((memory_of(object["exponent"].read<std::uint8_t>().value()) == expected.exponents));
            CHECK((memory_of(object["fraction"].read<std::uint8_t>().value()) == expected.fractions));
            CHECK(object["exponent"].encoding() ==
                  (version == format_version::v2 ? ztensor::encoding::zstd_seekable : ztensor::encoding::zstd));
            CHECK(object["fraction"].encoding() == ztensor::encoding::raw);
            CHECK(object.is_in_planes());
            CHECK_FALSE(object.has_attributes()); // but for those of the layout, which are not the caller's
        }
    }
}

TEST_CASE("the planes of the corpus are the tensors that stand beside them") {
    using namespace planes_read;
    const reader file = reader::open("tests/corpus/planes/planes.zt").value();
    std::size_t count = 0;
    for (const ztensor::object_view object : file) {
        const std::string name(object.name());
        if (object.size() == 1) {
            continue;
        }
        CAPTURE(name);
        CHECK(object.format() == ztensor::format::dense);
        const ztensor::object_view raw = file[name + ".raw"];
        CHECK(object.shape() == raw.shape());
        CHECK(object.dtype() == raw.dtype());
        CHECK(object.data()->read_little_endian().value() == raw.data()->read_little_endian().value());
        ++count;
    }
    CHECK(count == 6);
    CHECK(file.verify().value().ok());
}

TEST_CASE("nothing of planes is lent or copied as one blob, and the refusals say why") {
    using namespace planes_read;
    const tensor_content content = weights_of(dtype::bf16, 100, 400);
    for (const format_version version : versions) {
        const reader file = support::opened(file_with_both(content, write_options().version(version), store()));
        const ztensor::component_view data = file["w"].data().value();
        const auto viewed = file.view<ztensor::bfloat16>("w");
        CHECK(refusal(viewed) == errc::not_viewable);
        CHECK_THAT(viewed.error().what(), support::contains_text("exponents and fractions"));
        CHECK(refusal(file["w"].rows(0, 2).view<ztensor::bfloat16>()) == errc::not_viewable);
        CHECK(refusal(data.view<ztensor::bfloat16>()) == errc::not_viewable);
        CHECK(refusal(data.bytes()) == errc::not_viewable);
        support::byte_vector room(10);
        CHECK(refusal(data.read_stored_into(room)) == errc::not_viewable);
        CHECK(file["w"]["fraction"].bytes().has_value());
        const ztensor::object_draft copied =
            ztensor::object_draft(ztensor::format::dense, file["w"].shape()).component_stored("data", data);
        writer out = support::to_memory(version);
        CHECK(refusal(out.add_object("copy", copied)) == errc::invalid_argument);
        CHECK(outcome(out.add("after", {1}, std::vector<float>{1})) == "ok");
        data.prefetch();
        data.evict();
    }
}

TEST_CASE("planes are verified each by its own digest, and together where they are one tensor") {
    using namespace planes_read;
    using ztensor::digest_state;
    const tensor_content content = weights_of(dtype::bf16, 300, 400);
    for (const format_version version : versions) {
        for (const char* const damaged : {"exponent", "fraction"}) {
            CAPTURE(static_cast<int>(version), damaged);
            bytes file = file_with_both(content, write_options().version(version), store().digest(digest::sha256));
            const reader good = support::opened(file);
            CHECK(good["w"].data()->verify().value() == digest_state::match);
            CHECK(good.verify().value().complete());
            const ztensor::component_view blob = good["w"][damaged];
            const bool is_checksum = blob.encoding() == ztensor::encoding::zstd_seekable; // of the frame itself
            const auto at = static_cast<std::size_t>(blob.offset() + blob.stored_bytes() / 2);
            file[at] = static_cast<char>(file[at] ^ 0x40);
            for (const unsigned threads : {1U, 2U}) {
                const temp_dir directory;
                for (const support::opening& each :
                     support::open_every_way(file, directory, read_options().threads(threads))) {
                    CAPTURE(each.way, threads);
                    const reader& bad = each.file.value();
                    CHECK(verdict(bad["w"].data().value()) == verdict(bad["w"][damaged]));
                    CHECK(verdict(bad["w"][damaged]) == (is_checksum ? "decode_failed" : "mismatch"));
                    const auto found = bad.verify(threads);
                    if (is_checksum) {
                        CHECK(refusal(found) == errc::decode_failed);
                    } else {
                        REQUIRE(found.value().mismatches.size() == 1);
                        CHECK(found.value().mismatches[0].role() == damaged);
                    }
                    const auto read = bad.read<ztensor::bfloat16>("w");
                    REQUIRE_FALSE(read.has_value());
                    CHECK(read.error().component() == damaged);
                    CHECK(refusal(bad.read_as<float>("w")) == read.error().code());
                    std::vector<ztensor::bfloat16> memory(120000);
                    CHECK(refusal(load_plan(bad).add("w", memory).run()) == read.error().code());
                    CHECK(pieces_of<float>(ztensor::component_pieces::open(bad["w"].data().value())).code ==
                          name(read.error().code()));
                }
            }
            const reader unchecked = support::opened(file, read_options().verify_digests(false));
            if (std::string(damaged) == "fraction") {
                CHECK(unchecked.read<ztensor::bfloat16>("w").has_value());
            }
        }
        const reader silent = support::opened(file_with_both(content, write_options().version(version), store()));
        CHECK(silent["w"].data()->verify().value() ==
              (version == format_version::v2 ? silent["raw"].data()->verify().value() : digest_state::absent));
    }
}

TEST_CASE("a part of planes is read without the rest of the fractions") {
    using namespace planes_read;
    const tensor_content content = weights_of(dtype::f32, 2000, 1000);
    for (const format_version version : {format_version::v1_2, format_version::v2}) {
        const bytes file = file_with_both(content, write_options().version(version), store());
        const support::watched seen = support::watch(file);
        const auto row = seen.file["w"].rows(1000, 1001).read<float>().value();
        CHECK((memory_of(row) == memory_of(seen.file["raw"].rows(1000, 1001).read<float>().value())));
        std::uint64_t of_fractions = 0;
        const ztensor::component_view fractions = seen.file["w"]["fraction"];
        for (const support::read_range& each : seen.source->reads) {
            const bool is_inside =
                each.offset >= fractions.offset() && each.offset < fractions.offset() + fractions.stored_bytes();
            of_fractions += is_inside ? each.length : 0;
        }
        CHECK(of_fractions == 3000);
    }
}

TEST_CASE("a plan of planes tells how far it is, ends when it is told, and keeps to the memory that it may have") {
    using namespace planes_read;
    const tensor_content content = weights_of(dtype::bf16, 1500, 1500);
    const reader file = support::opened(file_with_both(content, {}, store()));
    std::vector<ztensor::bfloat16> memory(1500 * 1500);
    std::uint64_t told = 0;
    bool is_rising = true;
    const auto note = [&](const ztensor::load_progress& now) {
        is_rising = is_rising && now.bytes_done >= told;
        told = now.bytes_done;
        return true;
    };
    const auto report = load_plan(file).add("w", memory).run(load_options().progress(note));
    CHECK(outcome(report) == "ok");
    CHECK(told == memory.size() * 2);
    CHECK(is_rising);
    const auto stop = [](const ztensor::load_progress&) { return false; };
    CHECK(refusal(load_plan(file).add("w", memory).run(load_options().threads(1).progress(stop))) == errc::cancelled);
    for (const std::uint64_t most : {0U, 1000U, 100000U, 3000000U, 100000000U}) {
        CAPTURE(most);
        std::vector<ztensor::bfloat16> again(memory.size());
        const auto run = load_plan(file).add("w", again).run(load_options().threads(2).max_staging_bytes(most));
        CHECK((run ? memory_of(again) == memory_of(memory) : run.error().code() == errc::limit_exceeded));
    }
}
