// SPDX-License-Identifier: MIT
//
// Public calls that no other test of failing memory makes, with each of their allocations failing in turn, once and for
// good: sets of files, pieces, values of attributes, tensors of other libraries, ways of writing and options of copies.
// Each says out_of_memory or does without, throws nothing, and leaks nothing.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/dlpack.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/import.hpp>
#include <ztensor/json.hpp>
#include <ztensor/lint.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/visit.hpp>
#include <ztensor/ztensor.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED) && ZTENSOR_HAS_EXCEPTIONS // without either a program ends instead

namespace {

namespace failing_calls {

using support::done;
using ztensor::errc;
using ztensor::reader;
using ztensor::result;
using ztensor::writer;

const std::vector<float> floats(3000, 1.5F);

const ztensor::read_options alone = ztensor::read_options().threads(1);

const ztensor::write_options plainly = ztensor::write_options().sync(false).threads(1);

/// What the calls work on, made before anything fails.
struct place {
    explicit place(const support::temp_dir& folder)
        : first(folder / "a file with a name that takes memory.zt"), second(folder / "another of that kind.zt"),
          changed(folder / "one that is changed, as often as need be.zt"), all(folder.path()) {
        write(first, "tensor in the first file, called at length", "raw");
        write(second, "tensor in the second file, called at length", "raw, too");
        write(changed, "tensor that is changed, called at length", "raw");
        files = {first, second};
        opened = reader::open(first, alone).value();
        set = ztensor::open_any(files, alone).value();
        some.set("a list of numbers", std::vector<int>{1, 2, 3}).set("a key that takes memory", "a text that does");
        draft =
            ztensor::object_draft("a format of one's own, at length", {3000}).component("a role that is long", floats);
    }

    static void write(const std::filesystem::path& path, const char* name, const char* raw) {
        writer out = writer::create(path, plainly).value();
        const std::vector<std::string> texts = {"a text that is long enough to take memory",
                                                "another one of that kind"};
        out.attributes(ztensor::attributes().set("several texts, one after the other", texts).set("n", 7)).value();
        out.add(name, {3000}, floats, ztensor::store().zstd().digest(ztensor::digest::crc32c)).value();
        out.add(raw, {30, 100}, std::vector<std::uint8_t>(3000, 7)).value(); // in the order of every host
        out.finish().value();
    }

    std::filesystem::path first, second, changed, all;
    std::vector<std::filesystem::path> files;
    reader opened;
    ztensor::reader set;
    ztensor::attributes some;
    ztensor::object_draft draft{"dense", {1}};
    std::vector<float> room = std::vector<float>(3000);
    const std::string name = "tensor in the first file, called at length";
    const std::string raw = "raw";
};

/// For what is no part of the call.
template <class Work>
auto without_failures(const Work& work) {
    const std::size_t failing = support::allocations_before_failure.exchange(0);
    auto made = work();
    support::allocations_before_failure = failing;
    return made;
}

template <class Work>
result<void> with_writer(const Work& work) {
    result<writer> out = writer::to_memory(plainly);
    return out ? work(*out).and_then([&] { return out->finish(); }) : done(out);
}

/// What the editor says when it is asked for nothing but this; the file stays as it is.
template <class Work>
result<void> with_editor(const place& at, const Work& work) {
    result<ztensor::editor> change = ztensor::edit(at.changed, plainly);
    return change ? work(*change) : done(change);
}

result<void> all_pieces(result<ztensor::component_pieces> pieces) {
    while (pieces) {
        const result<ztensor::bytes_view> next = pieces->next();
        if (!next || next->empty()) {
            return done(next);
        }
    }
    return done(pieces);
}

struct named_call {
    const char* what;
    result<void> (*run)(place& at);
};

const named_call calls[] = {
    {"pieces",
     [](place& at) { return all_pieces(ztensor::component_pieces::open(at.opened.find(at.name)->data().value())); }},
    {"pieces, converted",
     [](place& at) {
         return all_pieces(
             ztensor::component_pieces::open_as(at.opened.find(at.name)->data().value(), ztensor::dtype::f16));
     }},
    {"a part of elements",
     [](place& at) { return done(at.opened.find(at.name)->data().value().part(1, 2, 30).read<float>()); }},
    {"strict reading", [](place& at) { return done(reader::open(at.first, ztensor::read_options(alone).strict())); }},
    {"any file", [](place& at) { return done(ztensor::open_any(at.first, alone)); }},
    {"a set of a list", [](place& at) { return done(ztensor::open_any(at.files, alone)); }},
    {"a set of two",
     [](place& at) {
         return done(ztensor::open_any({at.first, at.second}, alone));
     }},
    {"a set of a file", [](place& at) { return done(ztensor::open_any(at.first, alone)); }},
    {"a set of readers",
     [](place& at) {
         auto readers = without_failures([&] { return std::vector<reader>{at.opened}; });
         return done(ztensor::reader::join(std::move(readers)));
     }},
    {"in a set", [](place& at) { return done(at.set.find(at.name)); }},
    {"not in a set",
     [](place& at) {
         const auto found = at.set.find("a name that is in none of the files of the set");
         return support::refusal(found) == errc::object_not_found ? result<void>() : done(found);
     }},
    {"where in a set", [](place& at) { return done(at.set.file_of(at.name)); }},
    {"texts of an attribute",
     [](place& at) { return done(at.opened.attributes().array<std::string>("several texts, one after the other")); }},
    {"items of an attribute",
     [](place& at) {
         const auto value = at.opened.attributes().value("several texts, one after the other");
         return value ? done(value->items()) : done(value);
     }},
    {"an attribute as a number", [](place& at) { return done(at.opened.attributes().number("n")); }},
    {"an attribute that is no map",
     [](place& at) {
         const auto map = at.opened.attributes().map("several texts, one after the other");
         return support::refusal(map) == errc::attribute_type ? result<void>() : done(map);
     }},
    {"visit", [](place& at) { return ztensor::visit(at.opened.find(at.raw).value(), [](auto) {}); }},
    {"lend to others", [](place& at) { return done(ztensor::view_dlpack(at.opened, at.opened.find(at.raw).value())); }},
    {"read for others", [](place& at) { return done(ztensor::read_dlpack(at.opened.find(at.name).value())); }},
    {"take from others",
     [](place& at) {
         const auto lent = ztensor::view_dlpack(at.opened, at.opened.find(at.raw).value());
         return lent ? with_writer([&](writer& out) { return ztensor::add_dlpack(out, at.name, **lent); }) : done(lent);
     }},
    {"add bytes",
     [](place& at) {
         return with_writer([&](writer& out) {
             return out.add_bytes(at.name, {3000}, ztensor::dtype::f32,
                                  ztensor::detail::as_bytes(ztensor::span<const float>(floats)));
         });
     }},
    {"add a list",
     [](place& at) { return with_writer([&](writer& out) {
                         return out.add(at.name, {3}, {true, false, true});
                     }); }},
    {"add an object of a format of one's own",
     [](place& at) { return with_writer([&](writer& out) { return out.add_object(at.name, at.draft); }); }},
    {"add quantized weights",
     [](place& at) {
         static const std::vector<std::uint32_t> words = {0x76543210};
         static const std::vector<float> one = {1};
         return with_writer([&](writer& out) {
             return out.add_quantized(at.name, {1, 8}, {4, 8, "8_per_u32"}, words, one, one);
         });
     }},
    {"add a second name",
     [](place& at) {
         return with_writer([&](writer& out) {
             return out.add(at.name, {3000}, floats).and_then([&] {
                 return out.add_tied("a second name of the same tensor", at.name);
             });
         });
     }},
    {"attributes of a file",
     [](place& at) { return with_writer([&](writer& out) { return out.add_attributes(at.opened.attributes()); }); }},
    {"copy under other names",
     [](place& at) {
         static const auto options =
             ztensor::copy_options()
                 .select([](const ztensor::object_view& each) { return each.name() != "raw"; })
                 .rename([](std::string_view) { return std::string("a name that is another one"); });
         return with_writer([&](writer& out) { return ztensor::copy(at.opened, out, options); });
     }},
    {"attributes through an editor",
     [](place& at) { return with_editor(at, [](ztensor::editor& change) { return done(change.attributes("raw")); }); }},
    {"a name that an editor does not find",
     [](place& at) {
         return with_editor(at, [](ztensor::editor& change) {
             const auto gone = change.remove("a name that is not in the file");
             return support::refusal(gone) == errc::object_not_found ? result<void>() : gone;
         });
     }},
    {"JSON of one value",
     [](place& at) {
         static const auto item = at.opened.attributes().cbor("several texts, one after the other").value();
         static nlohmann::json kept; // let go of where memory is back: nlohmann's destructor takes some
         without_failures([] { return kept = nullptr; });
         result<nlohmann::json> made = ztensor::to_json(item);
         if (made) {
             kept = *std::move(made);
         }
         return done(made);
     }},
    {"a plan across files",
     [](place& at) {
         auto plan = without_failures([&] { return ztensor::load_plan(at.set); });
         plan.add(at.name, at.room);
         return done(plan.run(ztensor::load_options().threads(1)));
     }},
};

} // namespace failing_calls

} // namespace

TEST_CASE("calls of every header say out_of_memory, or need none, whichever allocation fails") {
    using namespace failing_calls;
    const support::temp_dir folder;
    place at(folder);
    for (const named_call& each : calls) {
        for (const bool for_good : {false, true}) {
            CAPTURE(each.what, for_good);
            REQUIRE(support::outcome(each.run(at)) == "ok");
            REQUIRE(support::outcome(each.run(at)) == "ok");
            const std::size_t held = support::bytes_held;
            for (std::size_t failing = 1;; ++failing) {
                CAPTURE(failing);
                support::failures_go_on = for_good;
                support::allocations_before_failure = failing;
                const result<void> answer = each.run(at);
                support::allocations_before_failure = 0;
                support::failures_go_on = false;
                if (support::failed_allocations.exchange(0) == 0) {
                    REQUIRE(support::outcome(answer) == "ok");
                    break;
                }
                REQUIRE((answer || answer.error().code() == errc::out_of_memory));
                REQUIRE(failing < 2000);
            }
            CHECK(each.run(at));
            CHECK(support::bytes_held <= held + 1024); // buffers that threads keep may be of other sizes
        }
    }
}

#else

TEST_CASE("memory does not run out under a sanitizer for calls of every header") {
    WARN("skipped: the sanitizer's runtime ends the program where memory runs out");
}

#endif
