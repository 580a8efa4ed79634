// SPDX-License-Identifier: MIT
//
// Readers and what they hand out as values: default-constructed, indexed, iterated; and who an error blames.
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/io.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/pieces.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace {

using support::refusal;
using ztensor::errc;
using ztensor::error_kind;
using ztensor::reader;

reader three_objects() {
    return support::reopened({}, [](ztensor::writer& out) {
        out.add("a", {2, 2}, {1.0F, 2.0F, 3.0F, 4.0F}, {}, ztensor::attributes().set("unit", "mV")).value();
        out.add("b", {2}, std::vector<ztensor::bfloat16>(2)).value();
        out.add_csr("c", {2, 3}, std::vector<float>{7, 8, 9}, std::vector<std::uint64_t>{1, 0, 2},
                    std::vector<std::uint64_t>{0, 1, 3})
            .value();
    });
}

template <class T>
void check_blames_caller(const ztensor::result<T>& refused, errc code) {
    REQUIRE_FALSE(refused.has_value());
    INFO(refused.error().what());
    CHECK(refused.error().code() == code);
    CHECK(refused.error().kind() == error_kind::usage);
}

} // namespace

TEST_CASE("a reader of no file has no objects until a file is opened") {
    reader model;
    CHECK_FALSE(model.is_open());
    CHECK(model.empty());
    CHECK(model.begin() == model.end());
    CHECK(refusal(model.find("a")) == errc::object_not_found);
    CHECK(refusal(model.read<float>("a")) == errc::object_not_found);
    CHECK_FALSE(model.contains("a"));
    CHECK(model.attributes().empty());
    CHECK_FALSE(model.has_attributes());
    CHECK(refusal(model.attributes().integer("k")) == errc::attribute_not_found);
    CHECK(model.version().original().empty());
    CHECK(model.path().empty());
    CHECK(model.file_bytes() == 0);
    CHECK(model.manifest_bytes() == 0);
    CHECK_FALSE(model.is_mapped());
    CHECK(model.verify().value().complete());
    CHECK(ztensor::load_plan(model).run().has_value());
    CHECK(ztensor::read_all(model).value().empty());
    model = three_objects();
    CHECK(model.is_open());
    CHECK(model.size() == 3);
}

TEST_CASE("what was moved from says that it is empty, or is what it was") {
    const reader model = three_objects();
    ztensor::shape flawed = {2, -1};
    const ztensor::shape taken = std::move(flawed);
    CHECK_FALSE(taken.is_valid());
    CHECK(flawed == ztensor::shape{}); // NOLINT: moved from on purpose, here and below

    ztensor::object_view absent = model["nothing"];
    const ztensor::object_view still_absent = std::move(absent);
    CHECK_FALSE(still_absent.is_present());
    CHECK_FALSE(absent.is_present()); // NOLINT
    ztensor::component_view no_part = model["a"]["nothing"];
    const ztensor::component_view still_none = std::move(no_part);
    CHECK_FALSE(no_part.is_present()); // NOLINT
    auto rows = model["a"].rows(0, 1);
    const auto same_rows = std::move(rows);
    CHECK(rows.shape().value() == same_rows.shape().value()); // NOLINT

    std::vector<float> into(4);
    ztensor::load_plan plan(model);
    plan.add("a", into);
    const ztensor::load_plan other_plan = std::move(plan);
    CHECK(plan.size() == 0); // NOLINT
    CHECK(plan.run().value().bytes_decoded == 0);
    CHECK(other_plan.size() == 1);

    auto pieces = ztensor::component_pieces::open(model["a"]["data"]).value();
    auto other_pieces = std::move(pieces);
    check_blames_caller(pieces.next(), errc::invalid_argument); // NOLINT
    CHECK(other_pieces.next());

    ztensor::file_index index = model.index().value();
    const ztensor::file_index other_index = std::move(index);
    CHECK(index.bytes().size() == other_index.bytes().size()); // NOLINT

    ztensor::attributes values = ztensor::attributes().set("k", 1);
    ztensor::object_draft draft("own", {2});
    draft.attributes(values).component("data", std::vector<float>{1, 2});
    ztensor::object_draft assigned("dense", {1});
    assigned = std::move(draft);
    CHECK(draft.format().empty()); // NOLINT
    CHECK(draft.shape() == ztensor::shape{});
    CHECK_FALSE(draft.attributes().has_value());
    ztensor::writer out = ztensor::writer::to_memory().value();
    CHECK_FALSE(out.add_object("w", draft).has_value());
    CHECK(out.add_object("w", assigned));
    const ztensor::attributes other_values = std::move(values);
    CHECK(values.empty()); // NOLINT
}

TEST_CASE("objects and components are found by name, and by place") {
    const reader model = three_objects();
    CHECK(model["a"].read<float>().value()[3] == 4);
    CHECK(model["a"].dtype() == ztensor::dtype::f32);
    CHECK(model["b"].dtype().text() == "bf16");
    CHECK(model["a"].type().text().empty());
    CHECK(!model["c"].dtype().is_present());
    CHECK(model["c"].dtype().text().empty());
    CHECK(model["c"]["values"].dtype() == ztensor::dtype::f32);
    CHECK(model[2].name() == "c");
    CHECK(model["a"][0].role() == "data");
#if ZTENSOR_HAS_EXCEPTIONS
    CHECK_FALSE(model["nobody"].is_present());
    CHECK_FALSE(model["a"]["scales"].is_present());
#endif
}

TEST_CASE("iterators go on, back and at once") {
    const reader model = three_objects();
    reader::iterator at = model.begin();
    CHECK((*at++).name() == "a");
    CHECK(at->name() == "b");
    CHECK((*++at).name() == "c");
    CHECK((*at--).name() == "c");
    CHECK(at[1].name() == "c");
    CHECK((at + 1)->name() == "c");
    CHECK(((1 + at) - 2)->name() == "a");
    CHECK(model.end() - model.begin() == 3);
    CHECK(at > model.begin());
    CHECK(at <= at);
    const auto found =
        std::find_if(model.begin(), model.end(), [](auto object) { return object.dtype().text() == "bf16"; });
    CHECK(found->name() == "b");
    const ztensor::object_view csr = model["c"];
    ztensor::object_view::iterator part;
    part = csr.begin();
    const auto before = part++;
    CHECK(before->role() != part->role());
    CHECK(csr.end() - part == 2);
    auto attribute = model["a"].attributes().begin();
    CHECK(std::distance(attribute, model["a"].attributes().end()) == 1);
    CHECK((*attribute++).key == "unit");
    CHECK(attribute == ztensor::attributes_view::iterator());
}

TEST_CASE("an error blames who broke the rule") {
    const reader model = three_objects();
    std::vector<float> wrong(3);
    check_blames_caller(model.read_into("a", wrong), errc::size_mismatch);
    check_blames_caller(model.read_as_into("b", wrong), errc::size_mismatch);
    check_blames_caller(model["a"].rows(1, 3).read<float>(), errc::out_of_bounds);
    check_blames_caller(model["a"].slice({{0, 1}, {0, 3}}).read<float>(), errc::out_of_bounds);
    check_blames_caller(model["a"]["data"].part(0, 5, 4).read<float>(), errc::out_of_bounds);
    std::byte byte;
    check_blames_caller(model["a"]["data"].read_stored_into(ztensor::span<std::byte>(&byte, 1), 16),
                        errc::out_of_bounds);
    check_blames_caller(ztensor::csr_view<float>::from_rows(model["c"], 0, 3), errc::out_of_bounds);
    const std::vector<std::uint64_t> indices = {5};
    check_blames_caller(ztensor::coo_view<float>::from_parts({3}, ztensor::span<const float>(wrong).first(1), indices),
                        errc::sparse_index);
    ztensor::load_plan plan(model);
    plan.add("a", wrong).add("a", ztensor::rows(3, 4), wrong);
    check_blames_caller(plan.run(), errc::size_mismatch);
    const std::byte open_array[] = {std::byte{0x9f}};
    check_blames_caller(ztensor::attributes().set_cbor("k", open_array), errc::cbor_truncated);

    const auto damaged = ztensor::reader::from_bytes(ztensor::bytes_view());
    CHECK(damaged.error().kind() == error_kind::invalid_file);
    CHECK(ztensor::error(errc::size_mismatch, "x").kind() == error_kind::invalid_file);
    CHECK(ztensor::error(errc::size_mismatch, "x").by_caller().kind() == error_kind::usage);
    CHECK(ztensor::error(errc::io_error, "x").by_caller().kind() == error_kind::io);
    CHECK(ztensor::error(errc::type_mismatch, "x").by_file().kind() == error_kind::invalid_file);
}

TEST_CASE("floats asked of what only converts to them are told how") {
    const reader model = three_objects();
    CHECK(model.read<float>("b").error().sentence().find("read_as<float>()") != std::string::npos);
    CHECK(model.view<double>("a").error().sentence().find("read_as") != std::string::npos);
    CHECK(model.read<std::int32_t>("a").error().sentence().find("read_as") == std::string::npos);
}

TEST_CASE("objects and components have the same storage if it is one range of one file, and not empty") {
    using support::sample;
    sample file;
    file.blobs({support::counting(8)});
    file.parts("own", {2}, {{"a", "u8", 64, 8}, {"b", "u8", 64, 8}, {"c", "u8", 64, 0}, {"d", "u8", 64, 0}});
    const ztensor::reader from = support::opened(file.file()), other = support::opened(file.file());
    const ztensor::object_view w = from.find("w").value(), its = other.find("w").value();
    const auto part = [](const ztensor::object_view& object, const char* role) {
        return object.component(role).value();
    };
    CHECK(part(w, "a").same_storage_as(part(w, "b")));
    CHECK_FALSE(part(w, "a").same_storage_as(part(its, "a")));
    CHECK_FALSE(part(w, "a").same_storage_as(part(w, "c"))); // of another length
    CHECK_FALSE(part(w, "c").same_storage_as(part(w, "d"))); // of nothing
    const ztensor::reader apart =
        support::opened(sample().blob(support::counting(64) + support::counting(64)).shape({2}).place(128, 8).file());
    CHECK_FALSE(w.same_storage_as(its));
    CHECK_FALSE(apart.find("w")->same_storage_as(w));
    sample one;
    one.parts("own", {2}, {{"a", "f32", 64, 8}});
    const ztensor::reader of_other_role = support::opened(one.file());
    CHECK_FALSE(of_other_role.find("w")->same_storage_as(apart.find("w").value()));
    const ztensor::reader dense = support::opened(sample().file());
    CHECK(dense.find("w")->same_storage_as(dense.find("w").value()));
    CHECK_FALSE(dense.find("w")->same_storage_as(apart.find("w").value()));
    CHECK(w.type().text().empty());
    CHECK(w.dtype().text().empty());
    CHECK_FALSE(w.dtype().is_present());
}

TEST_CASE("a part that a sparse object does not have is missed by name") {
    const auto in = [](ztensor::version from, const char* role) {
        support::sample file(from);
        if (from == ztensor::version::v0_1) {
            file.object("format", support::cbor::text("sparsecsr")).shape({1, 1}).blob(support::bytes(3 * 8 + 4, '\0'));
        } else {
            file.parts("sparse_coo", {2}, {{"values", "f32", 64, 8}, {"coords", "u64", 128, 16}});
            file.blobs({support::counting(8), support::little_endian({0, 1}, 8)});
        }
        const ztensor::reader opened = support::opened(file.file());
        const auto found = (*opened.begin()).component(role);
        CHECK(support::refusal(found) == ztensor::errc::component_not_found);
        return found.error().sentence();
    };
    CHECK(in(ztensor::version::v1_2, "data").find("csr_view") == std::string::npos);
    CHECK(in(ztensor::version::v0_1, "values").find("csr_view") != std::string::npos);
}

TEST_CASE("memory is let go of whether or not it is mapped") {
    const support::temp_dir directory;
    for (const support::opening& each : support::open_every_way(support::sample().file(), directory)) {
        CAPTURE(each.way);
        const ztensor::reader& file = each.file.value();
        const ztensor::component_view data = support::data_of(file);
        data.prefetch();
        data.evict();
        CHECK(file.read<float>("w").value() == std::vector<float>{1, 2});
    }
    support::write_file(directory / "w.zt", support::sample().file());
    const ztensor::reader unused = ztensor::reader::open(directory / "w.zt").value();
    support::data_of(unused).evict(); // before anybody needs it mapped
    CHECK(unused.read<float>("w").value() == std::vector<float>{1, 2});
}
