// SPDX-License-Identifier: MIT
//
// What is copied as it is, and what is refused, of objects that use words or forms which the other side has none for.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/cbor.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"
#include "transfer/copy_content.hpp"

#include "import/foreign_files.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/import.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace {

namespace copy_refusals {

using support::bytes;
using support::opened;
using support::outcome;
using support::sample;
using ztensor::dtype;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::reader;
using ztensor::store;
using ztensor::version;
using ztensor::writer;
namespace cbor = support::cbor;

std::string outcome_of_copy(const reader& from, format_version to, const ztensor::copy_options& options = {}) {
    writer out = support::to_memory(to);
    return outcome(ztensor::copy(from, out, options));
}

reader written_as(format_version version, const support::fill_function& fill) {
    return support::reopened(ztensor::write_options().version(version), fill);
}

/// Quantized weights of version 2, of 8 groups.
reader quant_group(const char* scale_form, const char* zero_packing) {
    return written_as(format_version::v2, [&](writer& out) {
        ztensor::attributes about;
        about.set("bits", 4).set("group_size", 8).set("axis", 1).set("scale_form", scale_form);
        REQUIRE(about.set_cbor("packing", support::to_vector(cbor::map{{"word", cbor::text("u32")},
                                                                       {"order", cbor::text("lsb_first")},
                                                                       {"per_word", cbor::number(8)}}
                                                                 .encoded())));
        REQUIRE(about.set_cbor(
            "zero_point",
            support::to_vector(
                cbor::map{{"form", cbor::text("tensor")}, {"packing", cbor::text(zero_packing)}}.encoded())));
        const std::vector<std::uint32_t> words(8), one_word(1);
        const std::vector<float> factors(8, 1);
        const std::vector<std::uint8_t> exponents(8, 127);
        object_draft draft("zt.quant_group/1", {8, 8});
        draft.component("data", words);
        if (std::string(scale_form) == "f32_factors") {
            draft.component("scales", factors);
        } else {
            draft.component("scales", exponents, store().type("f8_e8m0"));
        }
        if (std::string(zero_packing) == "plain") {
            draft.component("zeros", exponents);
        } else {
            draft.component("zeros", one_word);
        }
        REQUIRE(out.add_object("q", draft.attributes(about)));
    });
}

} // namespace copy_refusals

} // namespace

TEST_CASE("quantized weights leave version 2 where earlier ones have words for their parameters") {
    using namespace copy_refusals;
    CHECK(outcome_of_copy(quant_group("f32_factors", "plain"), format_version::v1_2) == "ok");
    CHECK(outcome_of_copy(quant_group("f32_factors", "same_as_data"), format_version::v1_2) == "not_expressible");
    CHECK(outcome_of_copy(quant_group("e8m0_exponent", "plain"), format_version::v1_2) == "not_expressible");
}

TEST_CASE("attributes that mean nothing before version 2 do not come to mean something there") {
    using namespace copy_refusals;
    for (const char* const key : {"axis", "scale_form", "zero_point", "mine"}) {
        const reader from = written_as(format_version::v1_2, [&](writer& out) {
            ztensor::attributes about;
            about.set("bits", 4).set("group_size", 8).set("packing", "8_per_i32").set(key, 1);
            const std::vector<std::int32_t> packed = {1};
            const std::vector<float> scales = {1}, zeros = {0};
            REQUIRE(out.add_object("q", object_draft(ztensor::format::quantized_group, {1, 8})
                                            .component("packed_weight", packed)
                                            .component("scales", scales)
                                            .component("zeros", zeros)
                                            .attributes(about)));
        });
        CAPTURE(key);
        CHECK(outcome_of_copy(from, format_version::v2) == (std::string(key) == "mine" ? "ok" : "not_expressible"));
    }
}

TEST_CASE("coordinates that stand twice stay where they may, and don't come into version 2") {
    using namespace copy_refusals;
    const reader from = written_as(format_version::v1_2, [](writer& out) {
        REQUIRE(out.add_coo("c", {2}, std::vector<float>{1, 2}, std::vector<std::uint64_t>{1, 1}));
    });
    CHECK(outcome_of_copy(from, format_version::v1_1) == "ok");
    CHECK(outcome_of_copy(from, format_version::v2) == "not_expressible");
}

TEST_CASE("indices of two widths become those of one width in version 2") {
    using namespace copy_refusals;
    sample file(version::v1_1);
    file.stored_parts("sparse_csr", {2, 3},
                      {{"values", "f32", things::f32_bits({0x3f800000, 0x40000000})},
                       {"indices", "u32", support::little_endian({0, 2}, 4)},
                       {"indptr", "u64", things::u64({0, 1, 2})}},
                      false);
    const reader from = opened(file.file());
    const reader after = written_as(format_version::v2, [&](writer& out) { REQUIRE(ztensor::copy(from, out)); });
    const auto object = after.find("w").value();
    CHECK(object.component("indices").value().dtype() == dtype::u64);
    CHECK(object.component("indptr").value().dtype() == dtype::u64);
    CHECK(ztensor::csr_view<float>::read(object).value().to_dense().value() == std::vector<float>{1, 0, 0, 0, 0, 2});
}

TEST_CASE("storage types that nobody knows stay, unless they are known elsewhere or their bytes must be") {
    using namespace copy_refusals;
    sample of_0_1(version::v0_1);
    of_0_1.component("dtype", cbor::text("f32")); // of 1.2; 0.1 has "float32"
    CHECK(outcome_of_copy(opened(of_0_1.file()), format_version::v0_1) == "not_expressible");
    of_0_1.component("dtype", cbor::text("float32x"));
    for (const format_version to : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
        CHECK(outcome_of_copy(opened(of_0_1.file()), to) == "ok");
    }
    CHECK(outcome_of_copy(opened(of_0_1.file()), format_version::v1_2, ztensor::copy_options().reencode(true)) ==
          "unknown_dtype");

    sample of_1_2;
    of_1_2.component("dtype", cbor::text("x32"));
    const reader from = opened(of_1_2.file());
    CHECK(outcome_of_copy(from, format_version::v1_1) == "ok");
    CHECK(outcome_of_copy(from, format_version::v2) == "not_expressible");
}

TEST_CASE("a sparse tensor whose values are of an unknown type is not taken apart, nor put together") {
    using namespace copy_refusals;
    sample of_0_1(version::v0_1);
    of_0_1.shape({2, 3}).object("layout", cbor::text("sparsecsr"));
    of_0_1.blob(things::u64({0, 1, 2}) + things::u64({0, 2}) + things::f32_bits({1, 2}));
    of_0_1.component("dtype", cbor::text("float32x"));
    CHECK(outcome_of_copy(opened(of_0_1.file()), format_version::v1_2) == "unknown_dtype");
    CHECK(outcome_of_copy(opened(of_0_1.file()), format_version::v0_1) == "ok");

    sample of_1_2;
    of_1_2.stored_parts("sparse_coo", {4},
                        {{"values", "x32", things::f32_bits({1, 2})}, {"coords", "u64", things::u64({0, 3})}}, false);
    CHECK(outcome_of_copy(opened(of_1_2.file()), format_version::v0_1) == "unknown_dtype");
    CHECK(outcome_of_copy(opened(of_1_2.file()), format_version::v1_1) == "ok");
}

TEST_CASE("bools of 0.1 in an encoding that nobody knows are copied as they are stored") {
    using namespace copy_refusals;
    sample file(version::v0_1);
    file.dtype("bool").blob("\x02\x01").component("encoding", cbor::text("mystery"));
    const reader from = opened(file.file());
    CHECK(outcome_of_copy(from, format_version::v1_2) == "ok");
    CHECK(outcome_of_copy(from, format_version::v1_2, ztensor::copy_options().reencode(true)) ==
          "unsupported_encoding");
}

TEST_CASE("a format's name that a later version has is not taken for it in 0.1") {
    using namespace copy_refusals;
    for (const char* const word : {"sparse_csr", "sparsecsr", "quantized_group", "mine"}) {
        for (const ztensor::version from : {version::v0_1, version::v1_1, version::v1_2}) {
            sample file(from);
            file.object(from == version::v0_1 ? "layout" : "format", cbor::text(word));
            const auto read = support::open_bytes(file.file());
            if (!read) {
                continue;
            }
            for (const format_version to : {format_version::v0_1, format_version::v1_1, format_version::v1_2}) {
                writer out = support::to_memory(to);
                const auto copied = ztensor::copy(*read, out);
                CAPTURE(word, static_cast<int>(from), static_cast<int>(to), outcome(copied));
                if (copied) {
                    const reader after = opened(support::finished(out));
                    CHECK(after.find("w").value().format().known() == read->find("w").value().format().known());
                } else {
                    CHECK(copied.error().code() == ztensor::errc::not_expressible);
                }
            }
        }
    }
}

TEST_CASE("types of version 2 that a foreign file has come into it with their meaning") {
    using namespace copy_refusals;
    const std::string header = R"({"e":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]}})";
    const support::temp_dir directory;
    support::write_file(directory / "e.safetensors", support::safetensors_file(header, "\x7f\x80"));
    const reader from = ztensor::open_any(directory / "e.safetensors").value();
    const reader after = written_as(format_version::v2, [&](writer& out) { REQUIRE(ztensor::copy(from, out)); });
    CHECK(after.find("e").value().data().value().type().text() == "f8_e8m0");
    CHECK(outcome_of_copy(from, format_version::v1_2) == "ok");
}

TEST_CASE("a type of version 2 over other bytes than its own does not come into it") {
    using namespace copy_refusals;
    sample bools;
    bools.dtype("u8").component("type", cbor::text("bool")).shape({8});
    CHECK(outcome_of_copy(opened(bools.blob(bytes(8, '\1')).file()), format_version::v2) == "ok");
    bools.dtype("u16").shape({4});
    CHECK(outcome_of_copy(opened(bools.file()), format_version::v2) == "not_expressible");
    CHECK(outcome_of_copy(opened(bools.file()), format_version::v1_2) == "ok");
}

TEST_CASE("indices of a type that nobody knows are copied within a version as they are") {
    using namespace copy_refusals;
    sample file;
    file.stored_parts("sparse_coo", {4}, {{"values", "f32", bytes(8, '\0')}, {"coords", "u128", bytes(16, '\0')}},
                      false);
    CHECK(outcome_of_copy(opened(file.file()), format_version::v1_2) == "ok");
    CHECK(outcome_of_copy(opened(file.file()), format_version::v2) != "ok");
}

TEST_CASE("objects of several files are copied file by file") {
    using namespace copy_refusals;
    const support::temp_dir folder;
    support::write_file(folder / "1.safetensors", support::safetensors_file({{"a", {1}}, {"c", {3}}}));
    support::write_file(folder / "2.safetensors", support::safetensors_file({{"b", {2}}, {"d", {4}}}));
    const auto set = ztensor::open_any(folder.path());
    REQUIRE(outcome(set) == "ok");
    writer out = support::to_memory();
    REQUIRE(ztensor::copy(*set, out));
    const reader copied = opened(support::finished(out));
    const auto place = [&](const char* name) { return copied.find(name)->data()->offset(); };
    CHECK(place("a") < place("c"));
    CHECK(place("c") < place("b"));
    CHECK(place("b") < place("d"));
    CHECK(copied.read<float>("d").value() == std::vector<float>{4});
}
