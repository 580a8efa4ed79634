// SPDX-License-Identifier: MIT
//
// Every public call that reads, with each of its allocations failing in turn, once and for ever: it succeeds without
// that memory or says out_of_memory, throws nothing, and leaks nothing.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/array.hpp>
#include <ztensor/attributes.hpp>
#include <ztensor/json.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED) && ZTENSOR_HAS_EXCEPTIONS // without either a program ends instead

namespace {

namespace wanting {

using support::done;
using ztensor::component_view;
using ztensor::errc;
using ztensor::load_options;
using ztensor::load_plan;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;

/// A file with one of everything; names so long that each that is held takes memory.
support::byte_vector one_of_everything() {
    return support::written(ztensor::write_options(), [](ztensor::writer& to) {
        std::vector<float> floats(40000); // so many that compressed ones are read in frames, by way of caches
        for (std::size_t i = 0; i < floats.size(); ++i) {
            floats[i] = static_cast<float>(i * 2654435761U % 1000);
        }
        const ztensor::store checked = ztensor::store().digest(ztensor::digest::sha256);
        to.attributes(ztensor::attributes()
                          .set("a text that is long enough to take memory", "another text that takes memory")
                          .set("numbers", 7)
                          .set("bytes", support::to_vector(support::bytes(100, 'x'))))
            .value();
        to.add("raw tensor of many floats", {400, 100}, floats, checked).value();
        to.add("packed tensor of many floats", {400, 100}, floats, ztensor::store(checked).zstd()).value();
        to.add("bools that are packed in memory", {3}, std::vector<bool>{true, false, true}).value();
        const std::vector<float> two = {5, 7};
        const std::vector<std::uint64_t> columns = {0, 2}, pointers = {0, 1, 2}, coords = {0, 1, 0, 2};
        to.add_csr("a sparse matrix by rows", {2, 3}, two, columns, pointers, checked).value();
        to.add_csr("a packed sparse matrix by rows", {2, 3}, two, columns, pointers, ztensor::store().zstd()).value();
        to.add_coo("a sparse tensor by coordinates", {2, 3}, two, coords).value();
        const std::vector<std::uint32_t> words = {0x76543210};
        const std::vector<float> one = {1};
        to.add_quantized("weights that were quantized", {1, 8}, {4, 8, "8_per_u32"}, words, one, one).value();
    });
}

/// Where results go, made before anything fails.
struct room {
    std::vector<float> floats = std::vector<float>(40000);
    std::vector<double> doubles = std::vector<double>(40000);
    std::vector<float> two_rows = std::vector<float>(200);
    std::vector<float> corner = std::vector<float>(6);
    std::vector<std::byte> stored = std::vector<std::byte>(64);
    nlohmann::json made; ///< let go of where memory is back: nlohmann's destructor takes some
    nlohmann::json json = {{"key that is long enough to take memory", {1, 2.5, "text that takes some memory, too"}}};
};

using call = result<void> (*)(const reader& file, room& into);

struct named_call {
    const char* what;
    call run;
};

object_view nth_object(const reader& file, std::size_t position) {
    auto at = file.begin();
    for (; position != 0; --position) {
        ++at;
    }
    return *at;
}
/// In the order of the file, which is that of the names.
object_view packed_csr(const reader& file) {
    return nth_object(file, 0);
}
object_view csr(const reader& file) {
    return nth_object(file, 1);
}
object_view coo(const reader& file) {
    return nth_object(file, 2);
}
object_view bools(const reader& file) {
    return nth_object(file, 3);
}
object_view packed(const reader& file) {
    return nth_object(file, 4);
}
object_view raw(const reader& file) {
    return nth_object(file, 5);
}
object_view weights(const reader& file) {
    return nth_object(file, 6);
}

template <object_view (*Of)(const reader&)>
constexpr named_call dense_calls[] = {
    {"read", [](const reader& f, room&) { return done(Of(f).read<float>()); }},
    {"read bytes", [](const reader& f, room&) { return done(Of(f).data().value().read<std::byte>()); }},
    {"read little-endian", [](const reader& f, room&) { return done(Of(f).data().value().read_little_endian()); }},
    {"read_as double", [](const reader& f, room&) { return done(Of(f).read_as<double>()); }},
    {"read_as a type made from floats",
     [](const reader& f, room&) { return done(Of(f).read_as<ztensor::bfloat16>()); }},
    {"read_as long double", [](const reader& f, room&) { return done(Of(f).read_as<long double>()); }},
    {"load", [](const reader& f, room&) { return done(Of(f).load<float>()); }},
    {"read_into", [](const reader& f, room& to) { return Of(f).read_into(to.floats); }},
    {"read_as_into", [](const reader& f, room& to) { return Of(f).read_as_into(to.doubles); }},
    {"read_rows", [](const reader& f, room&) { return done(Of(f).rows(3, 5).read<float>()); }},
    {"read_rows_into", [](const reader& f, room& to) { return Of(f).rows(3, 5).read_into(to.two_rows); }},
    {"read_slice",
     [](const reader& f, room&) {
         return done(Of(f).slice({{1, 3}, {4, 7}}).read<float>());
     }},
    {"read_slice_into",
     [](const reader& f, room& to) {
         return Of(f).slice({{1, 3}, {4, 7}}).read_into(to.corner);
     }},
    {"view or its refusal",
     [](const reader& f, room&) {
         const auto seen = Of(f).view<float>();
         return seen || seen.error().code() != errc::out_of_memory ? result<void>() : done(seen);
     }},
    {"stored bytes", [](const reader& f, room& to) { return Of(f).data().value().read_stored_into(to.stored); }},
    {"verify", [](const reader& f, room&) { return done(Of(f).data().value().verify()); }},
};

/// A call that fails whatever the memory: also its refusal takes memory.
template <class T>
result<void> refused(const result<T>& answer) {
    return !answer && answer.error().code() == errc::out_of_memory ? done(answer) : result<void>();
}

constexpr named_call other_calls[] = {
    {"find", [](const reader& f, room&) { return done(f.find("raw tensor of many floats")); }},
    {"find nothing", [](const reader& f, room&) { return refused(f.find("a name that is not in the file at all")); }},
    {"contains",
     [](const reader& f, room&) {
         const bool is_right = f.contains("raw tensor of many floats") && !f.contains("no such name in the whole file");
         return is_right ? result<void>() : ztensor::error(errc::io_error, "wrong");
     }},
    {"by name", [](const reader& f, room&) { return done(f.read<float>("raw tensor of many floats")); }},
    {"a component that is not there",
     [](const reader& f, room&) { return refused(raw(f).component("a role that is not in the object")); }},
    {"rows that are not there", [](const reader& f, room&) { return refused(raw(f).rows(5, 1000).read<float>()); }},
    {"another type", [](const reader& f, room&) { return refused(raw(f).read<std::int16_t>()); }},
    {"bools", [](const reader& f, room&) { return done(bools(f).read<bool>()); }},
    {"rows of bools", [](const reader& f, room&) { return done(bools(f).rows(1, 3).read<bool>()); }},
    {"slice of bools",
     [](const reader& f, room&) {
         return done(bools(f).slice({{0, 2}}).read<bool>());
     }},
    {"array of bools", [](const reader& f, room&) { return done(bools(f).load<bool>()); }},
    {"verify all", [](const reader& f, room&) { return done(f.verify(1)); }},
    {"verify all, by threads", [](const reader& f, room&) { return done(f.verify(3)); }},
    {"csr", [](const reader& f, room&) { return done(ztensor::csr_view<float>::from(csr(f))); }},
    {"csr, read", [](const reader& f, room&) { return done(ztensor::csr_view<float>::read(csr(f))); }},
    {"csr of narrow indices",
     [](const reader& f, room&) { return done(ztensor::csr_view<float, short>::from(csr(f))); }},
    {"csr, packed", [](const reader& f, room&) { return done(ztensor::csr_view<float>::from(packed_csr(f))); }},
    {"rows of csr", [](const reader& f, room&) { return done(ztensor::csr_view<float>::from_rows(csr(f), 1, 2)); }},
    {"rows of packed csr",
     [](const reader& f, room&) { return done(ztensor::csr_view<float, short>::from_rows(packed_csr(f), 1, 2)); }},
    {"coo", [](const reader& f, room&) { return done(ztensor::coo_view<float>::from(coo(f))); }},
    {"sparse to dense and to each other",
     [](const reader& f, room&) {
         return done(ztensor::csr_view<float>::from(csr(f))
                         .and_then([](const auto& view) { return view.to_coo(); })
                         .and_then([](const auto& view) { return view.to_csr(); })
                         .and_then([](const auto& view) { return view.to_dense(); }));
     }},
    {"coo to dense",
     [](const reader& f, room&) {
         return done(ztensor::coo_view<float>::from(coo(f)).and_then([](const auto& view) { return view.to_dense(); }));
     }},
    {"unpack",
     [](const reader& f, room&) {
         return done(
             ztensor::quantized_view::from(weights(f)).and_then([](const auto& view) { return view.unpack(); }));
     }},
    {"dequantize",
     [](const reader& f, room&) {
         return done(
             ztensor::quantized_view::from(weights(f)).and_then([](const auto& view) { return view.dequantize(); }));
     }},
    {"attributes",
     [](const reader& f, room&) {
         return done(f.attributes().text("a text that is long enough to take memory"))
             .and_then([&] { return done(f.attributes().byte_string("bytes")); })
             .and_then([&] { return done(f.attributes().integer("numbers")); })
             .and_then([&] { return refused(f.attributes().number("a key that is not among the attributes")); })
             .and_then([&] { return refused(f.attributes().boolean("numbers")); });
     }},
    {"to_json",
     [](const reader& f, room& to) {
         result<nlohmann::json> made = ztensor::to_json(f.attributes());
         if (made) {
             to.made = *std::move(made);
         }
         return done(made);
     }},
    {"to_attributes", [](const reader&, room& to) { return done(ztensor::to_attributes(to.json)); }},
    {"plan",
     [](const reader& f, room& to) {
         load_plan plan(f);
         plan.add("raw tensor of many floats", to.floats);
         plan.add_as("packed tensor of many floats", to.doubles);
         plan.add("raw tensor of many floats", ztensor::rows(3, 5), to.two_rows);
         plan.add(f["packed tensor of many floats"].slice({{1, 3}, {4, 7}}), to.corner);
         return done(plan.run(load_options().threads(1)));
     }},
    {"plan of several threads",
     [](const reader& f, room& to) {
         load_plan plan(f);
         plan.add("packed tensor of many floats", to.floats);
         plan.add_as("raw tensor of many floats", to.doubles);
         return done(plan.run(load_options().threads(3)));
     }},
    {"plan of what is not there",
     [](const reader& f, room& to) {
         load_plan plan(f);
         plan.add("a tensor that is not in the file", to.floats);
         return refused(plan.run(load_options().threads(1)));
     }},
    {"read_all", [](const reader& f, room&) { return done(ztensor::read_all(f, load_options().threads(1))); }},
    {"no such source", [](const reader&, room&) { return refused(reader::from_source(nullptr)); }},
    {"no such file",
     [](const reader&, room&) { return refused(reader::open("no/such/file/anywhere/to/be/found.zt")); }},
};

/// Fails each allocation of the call in turn. `make()` gives the reader, and is no part of what fails.
template <class Make>
void fail_each(const named_call& each, Make&& make, room& into, bool for_ever) {
    const auto run_once = [&](std::size_t failing) {
        const reader file = make();
        into.made = nullptr;
        const std::size_t failed_before = support::failed_allocations;
        support::failures_go_on = for_ever;
        support::allocations_before_failure = failing;
        const result<void> answer = each.run(file, into);
        support::allocations_before_failure = 0;
        support::failures_go_on = false;
        const bool was_reached = support::failed_allocations != failed_before;
        const bool is_fine = answer || (was_reached && answer.error().code() == errc::out_of_memory);
        if (!is_fine) {
            CAPTURE(each.what, failing, for_ever, support::outcome(answer));
            CHECK(is_fine);
        }
        return was_reached;
    };
    constexpr std::size_t never = 1000000;
    REQUIRE_FALSE(run_once(never)); // what threads keep is made now
    REQUIRE_FALSE(run_once(never));
    const std::size_t held = support::bytes_held;
    std::size_t failing = 1;
    while (run_once(failing)) {
        ++failing;
        REQUIRE(failing < 2000);
    }
    static_cast<void>(run_once(never)); // what threads keep and was not there is made again
    const std::size_t held_now = support::bytes_held;
    CAPTURE(each.what, for_ever, failing);
    // A kept buffer may be of another size, and each thread of a pool keeps one, of 2 MiB at most; what leaks is there
    // for each failure.
    const bool is_by_threads = std::string(each.what).find("threads") != std::string::npos;
    CHECK(held_now <= held + (is_by_threads ? std::size_t{6} << 20 : 1024));
}

} // namespace wanting

} // namespace

TEST_CASE("a call that reads says out_of_memory, or needs none, whichever allocation fails") {
    const support::temp_dir directory;
    const support::byte_vector content = wanting::one_of_everything();
    support::write_file(directory / "all.zt", support::as_string(ztensor::bytes_view(content)));
    const std::string path = (directory / "all.zt").string();
    wanting::room into;
    const auto in_memory = [&] { return ztensor::reader::from_bytes(ztensor::bytes_view(content)).value(); };
    const auto by = [&](ztensor::io_mode mode) {
        return [&, mode] { return ztensor::reader::open(path, ztensor::read_options().mode(mode)).value(); };
    };
    REQUIRE(in_memory().size() == 7);
    for (const bool for_ever : {false, true}) {
        const auto fail_in_every_mode = [&](const wanting::named_call& each) {
            wanting::fail_each(each, in_memory, into, for_ever);
            wanting::fail_each(each, by(ztensor::io_mode::mapped), into, for_ever);
            wanting::fail_each(each, by(ztensor::io_mode::positional), into, for_ever);
        };
        for (const wanting::named_call& each : wanting::dense_calls<wanting::raw>) {
            fail_in_every_mode(each);
        }
        for (const wanting::named_call& each : wanting::dense_calls<wanting::packed>) {
            fail_in_every_mode(each);
        }
        for (const wanting::named_call& each : wanting::other_calls) {
            fail_in_every_mode(each);
        }
    }
}

TEST_CASE("opening says out_of_memory, or needs none, whichever allocation fails, in every way to open") {
    const support::temp_dir directory;
    const support::byte_vector content = wanting::one_of_everything();
    support::write_file(directory / "all.zt", support::as_string(ztensor::bytes_view(content)));
    static std::string path;
    path = (directory / "all.zt").string();
    static const support::byte_vector* bytes = nullptr;
    bytes = &content;
    const wanting::named_call opening_calls[] = {
        {"open", [](const ztensor::reader&, wanting::room&) { return support::done(ztensor::reader::open(path)); }},
        {"open by positional reads",
         [](const ztensor::reader&, wanting::room&) {
             const auto mode = ztensor::read_options().mode(ztensor::io_mode::positional);
             return support::done(ztensor::reader::open(path, mode));
         }},
        {"open mapped",
         [](const ztensor::reader&, wanting::room&) {
             const auto mapped = ztensor::reader::open(path, ztensor::read_options().mode(ztensor::io_mode::mapped));
             return support::done(mapped);
         }},
        {"from bytes",
         [](const ztensor::reader&, wanting::room&) {
             return support::done(ztensor::reader::from_bytes(ztensor::bytes_view(*bytes)));
         }},
    };
    const auto any = [&] { return ztensor::reader::from_bytes(ztensor::bytes_view(content)).value(); };
    wanting::room into;
    for (const wanting::named_call& each : opening_calls) {
        wanting::fail_each(each, any, into, false);
        wanting::fail_each(each, any, into, true);
    }
}

#else

TEST_CASE("memory does not run out under a sanitizer, nor without exceptions") {
    WARN("skipped: the program would end where memory runs out");
}

#endif
