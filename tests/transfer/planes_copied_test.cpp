// SPDX-License-Identifier: MIT
//
// Tensors in planes from file to file: copied blob by blob, between versions, under other names, tied, appended to,
// edited, in shards, opened by an index, and exported as the dense tensors that they are.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/openings.hpp"
#include "support/plane_content.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/edit.hpp>
#include <ztensor/import.hpp>
#include <ztensor/lint.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sharded_writer.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace planes_copied {

using support::bytes;
using support::memory_of;
using support::outcome;
using support::refusal;
using support::temp_dir;
using ztensor::attributes;
using ztensor::bfloat16;
using ztensor::digest;
using ztensor::dtype;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_view;
using ztensor::publish_mode;
using ztensor::reader;
using ztensor::store;
using ztensor::write_options;
using ztensor::writer;

constexpr format_version planes_versions[] = {format_version::v1_1, format_version::v1_2, format_version::v2};
constexpr format_version edited_versions[] = {format_version::v1_1, format_version::v1_2};

const bytes& elements() {
    static const bytes made = support::planes::weights(dtype::bf16, 60000);
    return made;
}

void fill(writer& out, const store& how = store().planes().digest(digest::sha256)) {
    attributes note;
    note.set("note", "of its own");
    out.add_bytes("w", {200, 300}, dtype::bf16, support::bytes_of(elements()), how, note).value();
}

reader model(format_version version) {
    return support::reopened(write_options().version(version), [](writer& out) { fill(out); });
}

void write_model(const std::filesystem::path& path, format_version version) {
    writer out = writer::create(path, write_options().version(version).sync(false)).value();
    fill(out);
    out.finish().value();
}

/// It is the tensor, in planes, with the attribute of its own, and its digests say so.
void check_tensor(const object_view& object) {
    CAPTURE(object.name());
    REQUIRE(object.is_present());
    CHECK(object.format() == ztensor::format::dense);
    CHECK(object.format().original() == "ztensor-cpp.planes/1");
    CHECK(object.size() == 2);
    CHECK(object.attributes().text("note").value() == "of its own");
    CHECK((support::as_string(object.data()->read_little_endian().value()) == elements()));
    CHECK((support::as_in_file(object.rows(7, 9).read<bfloat16>().value()) == elements().substr(4200, 1200)));
    CHECK(object.data()->verify().value() == ztensor::digest_state::match);
}

bytes blob_of(const ztensor::component_view& component) {
    support::byte_vector made(static_cast<std::size_t>(component.stored_bytes()));
    component.read_stored_into(made).value();
    return support::as_string(made);
}

} // namespace planes_copied

} // namespace

TEST_CASE("planes are copied blob by blob within a version, under any name") {
    using namespace planes_copied;
    for (const format_version version : planes_versions) {
        const reader from = model(version);
        const reader copied = support::reopened(write_options().version(version), [&](writer& out) {
            out.add("a", from["w"]).value();
            const auto renamed =
                ztensor::copy_options().rename([](std::string_view name) { return std::string(name) + "2"; });
            ztensor::copy(from, out, renamed).value();
        });
        for (const char* const name : {"a", "w2"}) {
            check_tensor(copied[name]);
            for (const char* const role : {"exponent", "fraction"}) {
                CHECK((blob_of(copied[name][role]) == blob_of(from["w"][role])));
            }
        }
    }
}

TEST_CASE("planes are planes in another version, too, but for 0.1, which has none") {
    using namespace planes_copied;
    for (const format_version from : planes_versions) {
        for (const format_version to : planes_versions) {
            CAPTURE(static_cast<int>(from), static_cast<int>(to));
            const reader source = model(from);
            const reader copied = support::reopened(write_options().version(to),
                                                    [&](writer& out) { ztensor::copy(source, out).value(); });
            check_tensor(copied["w"]);
            const reader back = support::reopened(write_options().version(from),
                                                  [&](writer& out) { ztensor::copy(copied, out).value(); });
            check_tensor(back["w"]);
            CHECK((blob_of(back["w"]["fraction"]) == blob_of(source["w"]["fraction"])));
            const reader encoded = support::reopened(write_options().version(to), [&](writer& out) {
                ztensor::copy(source, out, ztensor::copy_options().reencode()).value();
            });
            check_tensor(encoded["w"]);
        }
    }
}

TEST_CASE("a damaged plane is not copied") {
    using namespace planes_copied;
    for (const format_version version : planes_versions) {
        bytes file =
            support::as_string(support::written(write_options().version(version), [](writer& out) { fill(out); }));
        const reader good = support::opened(file);
        const auto at = static_cast<std::size_t>(good["w"]["fraction"].offset() + 1000);
        file[at] = static_cast<char>(file[at] ^ 1);
        writer out = support::to_memory(version);
        CHECK(refusal(ztensor::copy(support::opened(file), out)) == errc::digest_mismatch);
        CHECK(outcome(out.add("x", {1}, std::vector<float>{1})) == "ok");
        CHECK(support::opened(support::finished(out)).size() == 1);
    }
}

TEST_CASE("planes that are tied are the same tensor under two names, and stay so where they are copied") {
    using namespace planes_copied;
    for (const format_version version : planes_versions) {
        const reader tied = support::reopened(write_options().version(version), [](writer& out) {
            fill(out);
            out.add_tied("x", "w").value();
        });
        const reader copied =
            support::reopened(write_options().version(version), [&](writer& out) { ztensor::copy(tied, out).value(); });
        for (const reader* const file : {&tied, &copied}) {
            check_tensor((*file)["w"]);
            check_tensor((*file)["x"]);
            CHECK((*file)["w"].same_storage_as((*file)["x"]));
            CHECK((*file)["w"].data()->same_storage_as((*file)["x"].data().value()));
            CHECK((*file)["w"]["fraction"].offset() == (*file)["x"]["fraction"].offset());
        }
    }
}

TEST_CASE("files that hold planes are appended to, beside and in place, and lose some again") {
    using namespace planes_copied;
    for (const format_version version : planes_versions) {
        for (const publish_mode mode : {publish_mode::replace, publish_mode::in_place}) {
            CAPTURE(static_cast<int>(version), static_cast<int>(mode));
            const temp_dir directory;
            const auto path = directory / "w.zt";
            write_model(path, version);
            const write_options options = write_options().publish(mode).sync(false);
            writer out = writer::append(path, options).value();
            out.add_bytes("x", {60000}, dtype::bf16, support::bytes_of(elements()), store().planes()).value();
            out.add("y", {2}, std::vector<float>{1, 2}).value();
            out.finish().value();
            {
                const reader grown = reader::open(path).value();
                check_tensor(grown["w"]);
                CHECK(grown["x"].size() == 2);
                CHECK((support::as_string(grown["x"].data()->read_little_endian().value()) == elements()));
            }
            if (version == format_version::v2 || mode == publish_mode::in_place) { // where nothing can be taken out
                continue;
            }
            auto edit = ztensor::edit(path, options).value();
            edit.remove("x").value();
            edit.finish().value();
            const reader file = reader::open(path).value();
            CHECK_FALSE(file.contains("x"));
            check_tensor(file["w"]);
            CHECK(file.verify().value().ok());
        }
    }
}

TEST_CASE("planes are renamed, and keep what they are where attributes are added") {
    using namespace planes_copied;
    for (const format_version version : edited_versions) {
        const temp_dir directory;
        const auto path = directory / "w.zt";
        write_model(path, version);
        auto edit = ztensor::edit(path, write_options().sync(false)).value();
        edit.rename("w", "v").value();
        attributes changed = edit.attributes("v").value();
        changed.set("more", std::uint64_t{1});
        edit.attributes("v", changed).value();
        for (const char* const key : {"planes.dtype", "planes.exponent_bits"}) {
            attributes of_layout = changed;
            of_layout.set(key, "f16");
            CHECK(refusal(edit.attributes("v", of_layout)) == errc::duplicate_key);
        }
        edit.finish().value();
        const reader file = reader::open(path).value();
        check_tensor(file["v"]);
        CHECK(file["v"].attributes().unsigned_integer("more").value() == 1);
        auto last = ztensor::edit(path, write_options().sync(false)).value();
        last.remove_attributes("v").value();
        CHECK(last.attributes("v").value().empty());
        last.add("x", {60000}, support::elements_from<bfloat16>(support::planes::weights(dtype::bf16, 60000, 2)),
                 store().planes())
            .value();
        last.attributes("x", changed).value(); // of one that was added just now
        last.finish().value();
        const reader bare = reader::open(path).value();
        CHECK_FALSE(bare["v"].has_attributes());
        CHECK(bare["x"].attributes().size() == 2);
        for (const char* const name : {"v", "x"}) {
            CHECK(bare[name].is_in_planes());
        }
        CHECK((support::as_string(bare["v"].data()->read_little_endian().value()) == elements()));
    }
}

TEST_CASE("planes become a dense tensor in 0.1, which has no place for two components") {
    using namespace planes_copied;
    for (const format_version version : {format_version::v1_1, format_version::v1_2, format_version::v2}) {
        const reader from = model(version);
        const reader file = support::reopened(write_options().version(format_version::v0_1),
                                              [&](writer& out) { ztensor::copy(from, out).value(); });
        const object_view object = file["w"];
        CHECK(object.format().original() == "dense");
        CHECK_FALSE(object.is_in_planes());
        CHECK(object.size() == 1);
        CHECK(object.attributes().text("note").value() == "of its own");
        CHECK_FALSE(object.attributes().contains("planes.dtype"));
        CHECK((support::as_string(object.data()->read_little_endian().value()) == elements()));
    }
}

TEST_CASE("an editor stores elements in planes as a writer does, in place of others or beside them") {
    using namespace planes_copied;
    for (const format_version version : edited_versions) {
        const temp_dir directory;
        const auto path = directory / "w.zt";
        write_model(path, version);
        const std::vector<bfloat16> other =
            support::elements_from<bfloat16>(support::planes::weights(dtype::bf16, 60000, 2));
        const std::vector<bfloat16> zeros(60000);
        for (const store& how : {store().planes(), store(), store().planes(), store().zstd(1)}) {
            auto edit = ztensor::edit(path, write_options().sync(false)).value();
            edit.replace("w", {60000}, other, how).value();
            edit.add("x", {60000}, other, how).value();
            edit.add("y", {60000}, zeros, how).value();
            edit.add("z", {10}, std::vector<float>(10), how).value();
            CHECK(refusal(edit.add("a", {10}, other, how)) == errc::size_mismatch);
            edit.finish().value();
            {
                const reader file = reader::open(path).value();
                const reader alike = support::reopened(write_options().version(version), [&](writer& out) {
                    out.add("w", {60000}, other, how).value();
                    out.add("y", {60000}, zeros, how).value();
                });
                for (const char* const name : {"w", "x"}) {
                    CHECK(file[name].size() == (how.is_in_planes() ? 2U : 1U));
                    CHECK(file[name].size() == alike["w"].size());
                    CHECK((blob_of(file[name][std::size_t{0}]) == blob_of(alike["w"][std::size_t{0}])));
                    CHECK((memory_of(file.read<bfloat16>(name).value()) == memory_of(other)));
                }
                CHECK((blob_of(file["y"][std::size_t{0}]) == blob_of(alike["y"][std::size_t{0}])));
                CHECK(file["z"].size() == 1);
            }
            auto again = ztensor::edit(path, write_options().sync(false)).value();
            for (const char* const name : {"x", "y", "z"}) {
                again.remove(name).value();
            }
            again.finish().value();
        }
        for (const store& how : {store().planes(), store()}) {
            write_model(path, version);
            auto in_place = ztensor::edit(path, write_options().publish(publish_mode::in_place).sync(false)).value();
            in_place.replace("w", {60000}, other, how).value();
            in_place.finish().value();
            const reader file = reader::open(path).value();
            CHECK(file["w"].size() == (how.is_in_planes() ? 2U : 1U));
            CHECK((memory_of(file.read<bfloat16>("w").value()) == memory_of(other)));
        }
    }
}

TEST_CASE("planes lie in shards as other tensors do") {
    using namespace planes_copied;
    for (const format_version version : planes_versions) {
        CAPTURE(static_cast<int>(version));
        const temp_dir directory;
        const reader from = model(version);
        auto out = ztensor::sharded_writer::create(directory / "m.zt",
                                                   write_options().version(version).shard_bytes(100000).sync(false))
                       .value();
        const auto given = support::bytes_of(elements());
        attributes note;
        note.set("note", "of its own");
        for (const char* const name : {"a", "b"}) {
            out.add_bytes(name, {200, 300}, dtype::bf16, given, store().planes().digest(digest::sha256), note).value();
        }
        auto stream = out.stream("c", {200, 300}, dtype::bf16, store().planes().digest(digest::sha256), note).value();
        stream.append_bytes(given).value();
        stream.finish().value();
        out.add("d", from["w"]).value();
        out.finish().value();
        CHECK(directory.names().size() > 2);
        const reader file = version == format_version::v2 ? reader::open(directory / "m.zt").value()
                                                          : ztensor::open_any(directory / "m.zt.index.json").value();
        CHECK(file.size() == 4);
        for (const object_view object : file) {
            check_tensor(object);
        }
        std::vector<bfloat16> all(4 * 60000);
        ztensor::load_plan plan(file);
        for (std::size_t i = 0; i < 4; ++i) {
            const auto room = ztensor::span<bfloat16>(all).subspan(i * 60000, 60000);
            plan.add(file[i], room);
        }
        CHECK(outcome(plan.run(ztensor::load_options().threads(2))) == "ok");
        CHECK((support::as_in_file(all) == elements() + elements() + elements() + elements()));
        writer joined = support::to_memory(format_version::v1_2);
        CHECK(outcome(ztensor::copy(file, joined)) == "ok");
        const reader one = support::opened(support::finished(joined));
        check_tensor(one["d"]);
    }
}

TEST_CASE("readers that were joined or opened by an index give planes as others do") {
    using namespace planes_copied;
    for (const format_version version : planes_versions) {
        const temp_dir directory;
        write_model(directory / "w.zt", version);
        const reader file = reader::open(directory / "w.zt").value();
        const reader known = reader::from_index(directory / "w.zt", file.index().value()).value();
        check_tensor(known["w"]);
        const reader other = support::reopened({}, [](writer& out) { out.add("z", {1}, {1.0f}).value(); });
        const reader joined = reader::join({other, file}).value();
        check_tensor(joined["w"]);
        CHECK(ztensor::read_all(joined).value().size() == 2);
    }
}

TEST_CASE("what is in planes is exported as the dense tensor that it is") {
    using namespace planes_copied;
    for (const format_version version : planes_versions) {
        const temp_dir directory;
        for (const dtype type : support::planes::types) {
            const bytes given = support::planes::weights(type, 40000);
            const auto file_of = [&](const store& how) {
                return support::reopened(write_options().version(version), [&](writer& out) {
                    out.add_bytes("w", {100, 400}, type, support::bytes_of(given), how).value();
                });
            };
            const reader planes = file_of(store().planes()), raw = file_of(store());
            REQUIRE(planes["w"].size() == 2);
            const auto check_exports = [&](const auto& write) {
                const std::string name = "exported";
                const std::string ended = outcome(write(raw, directory / (name + ".raw")));
                CHECK(outcome(write(planes, directory / name)) == ended);
                CHECK((support::read_file(directory / name) == support::read_file(directory / (name + ".raw"))));
            };
            const auto options = ztensor::export_options().sync(ztensor::sync_level::none);
            const auto as_f32 = ztensor::export_options(options).floats_as(dtype::f32);
            const auto bare = ztensor::export_options(options).attributes(false);
            const auto bare_f32 = ztensor::export_options(as_f32).attributes(false);
            CAPTURE(name(type), static_cast<int>(version));
            for (const auto& each : {options, as_f32, bare, bare_f32}) {
                check_exports([&](const reader& from, const std::filesystem::path& path) {
                    return ztensor::export_safetensors(from, path, each);
                });
                check_exports([&](const reader& from, const std::filesystem::path& path) {
                    return ztensor::export_npy(from["w"], path, each);
                });
                check_exports([&](const reader& from, const std::filesystem::path& path) {
                    return ztensor::export_npz(from, path, each);
                });
            }
        }
    }
}

TEST_CASE("nothing is odd about files with planes that the library writes") {
    using namespace planes_copied;
    for (const format_version version : planes_versions) {
        const bytes file =
            support::as_string(support::written(write_options().version(version), [](writer& out) { fill(out); }));
        CHECK(ztensor::lint(support::opened(file)).value().empty());
        CHECK(outcome(support::open_bytes(file, ztensor::read_options().strict())) == "ok");
    }
}
