// SPDX-License-Identifier: MIT
//
// What a writer refuses: nothing of it is written, and the writer goes on.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/refusal.hpp"
#include "support/scripted_sink.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "write/write_samples.hpp"

#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

using support::byte_vector;
using support::bytes;
using support::from_hex;
using support::largest;
using support::noise;
using support::outcome;
using support::reopened;
using support::scripted_sink;
using support::sink_log;
using support::temp_dir;
using support::to_memory;
using support::written;
using write_samples::four_floats;
using write_samples::indptr_of_two_rows;
using write_samples::three_indices;
using ztensor::attributes;
using ztensor::bytes_view;
using ztensor::digest;
using ztensor::dtype;
using ztensor::format;
using ztensor::format_version;
using ztensor::object_draft;
using ztensor::reader;
using ztensor::result;
using ztensor::shape;
using ztensor::span;
using ztensor::store;
using ztensor::tensor_stream;
using ztensor::write_options;
using ztensor::writer;

using namespace std::string_literals;

struct refused_call {
    std::string what;
    std::string code;
    std::function<result<void>(writer&)> call;
};

/// A sparse matrix of three values, of which only the sizes matter.
object_draft csr_draft(const shape& dimensions, std::size_t indices, std::size_t pointers) {
    static const std::vector<float> values = {1, 2, 3};
    static const std::vector<std::uint64_t> zeros(8);
    return object_draft(format::sparse_csr, dimensions)
        .component("values", values)
        .component("indices", span<const std::uint64_t>(zeros).first(indices))
        .component("indptr", span<const std::uint64_t>(zeros).first(pointers));
}

/// Calls that a writer of any version which holds an object "taken" refuses.
std::vector<refused_call> refused_by_all() {
    static const std::vector<std::uint8_t> none;
    static const std::vector<std::uint8_t> one = {1};
    static const std::vector<float> three = {1, 2, 3};
    const std::string invalid_names[] = {
        "",         std::string("a\0b", 3), std::string("\0", 1), std::string(4097, 'n'), "\xff", "\xc3",
        "\xc0\x80", "\xed\xa0\x80",         "\xf4\x90\x80\x80"};
    std::vector<refused_call> all;
    for (const std::string& name : invalid_names) {
        all.push_back({"object name " + name, "name_invalid", [=](writer& out) { return out.add(name, {1}, one); }});
        all.push_back(
            {"stream name " + name, "name_invalid", [=](writer& out) {
                 return out.stream(name, {1}, dtype::u8).and_then([](const tensor_stream&) { return result<void>(); });
             }});
        all.push_back({"role " + name, "name_invalid", [=](writer& out) {
                           return out.add_object("x", object_draft("own", {1}).component(name, one));
                       }});
        all.push_back(
            {"attribute " + name, "name_invalid", [=](writer& out) {
                 return out.add_object(
                     "x",
                     object_draft(format::dense, {1}).component("data", one).attributes(attributes().set(name, 1)));
             }});
        all.push_back({"file attribute " + name, "name_invalid",
                       [=](writer& out) { return out.attributes(attributes().set(name, 1)); }});
    }
    const auto refuse_shape = [&](const char* what, const char* code, const shape& dimensions) {
        all.push_back({what, code, [=](writer& out) { return out.add("x", dimensions, none); }});
        all.push_back({std::string("stream: ") + what, code, [=](writer& out) {
                           return out.stream("x", dimensions, dtype::u8).and_then([](const tensor_stream&) {
                               return result<void>();
                           });
                       }});
    };
    const std::uint64_t big = std::uint64_t{1} << 40;
    refuse_shape("2^64 elements", "shape_overflow", {std::uint64_t{1} << 32, std::uint64_t{1} << 32});
    refuse_shape("a zero behind an overflow", "shape_overflow", {big, big, 0});
    refuse_shape("a zero before an overflow", "shape_overflow", {0, big, big});
    refuse_shape("65 dimensions", "limit_exceeded", shape(std::vector<std::uint64_t>(65, 1)));
    all.push_back({"2^64 bytes", "shape_overflow",
                   [](writer& out) { return out.add("x", {std::uint64_t{1} << 62}, four_floats); }});
    all.push_back({"2^64 bytes beside a zero", "shape_overflow", [](writer& out) {
                       return out.add("x", {std::uint64_t{1} << 63, 0}, std::vector<std::uint32_t>());
                   }});
    all.push_back({"2^64 bytes beside a zero, in an object", "shape_overflow", [](writer& out) {
                       const std::vector<std::uint32_t> no_words;
                       return out.add_object(
                           "x", object_draft(format::dense, {0, std::uint64_t{1} << 63}).component("data", no_words));
                   }});
    all.push_back(
        {"2^64 bytes beside a zero, in a stream", "shape_overflow", [](writer& out) {
             return out.stream("x", {std::uint64_t{1} << 62, 0}, dtype::f32).and_then([](const tensor_stream&) {
                 return result<void>();
             });
         }});
    all.push_back({"2^64 bytes in a stream", "shape_overflow", [](writer& out) {
                       return out.stream("x", {std::uint64_t{1} << 62}, dtype::f32).and_then([](const tensor_stream&) {
                           return result<void>();
                       });
                   }});

    const std::vector<refused_call> others = {
        {"a name that is taken", "duplicate_key", [](writer& out) { return out.add("taken", {1}, one); }},
        {"a stream of a name that is taken", "duplicate_key",
         [](writer& out) {
             return out.stream("taken", {1}, dtype::u8).and_then([](const tensor_stream&) { return result<void>(); });
         }},
        {"a role given twice", "duplicate_key",
         [](writer& out) {
             return out.add_object(
                 "x", object_draft("own", {1}).component("r", one).component("s", one).component("r", one));
         }},
        {"too few elements", "size_mismatch", [](writer& out) { return out.add("x", {4}, three); }},
        {"too many elements", "size_mismatch", [](writer& out) { return out.add("x", {2}, three); }},
        {"no elements for a scalar", "size_mismatch", [](writer& out) { return out.add("x", {}, none); }},
        {"elements for an empty shape", "size_mismatch",
         [](writer& out) {
             return out.add("x", {3, 0}, three);
         }},
        {"elements to be compressed, too few", "size_mismatch",
         [](writer& out) { return out.add("x", {4}, three, store().zstd()); }},
        {"too few bools", "size_mismatch", [](writer& out) { return out.add("x", {4}, std::vector<bool>(3)); }},
        {"bytes that are no whole element", "size_mismatch",
         [](writer& out) { return out.add_bytes("x", {1}, dtype::u32, noise(3)); }},
        {"level 23", "invalid_argument", [](writer& out) { return out.add("x", {3}, three, store().zstd(23)); }},
        {"the smallest of all levels", "invalid_argument",
         [](writer& out) { return out.add("x", {3}, three, store().zstd(std::numeric_limits<int>::min())); }},
        {"a stream of level 100", "invalid_argument",
         [](writer& out) {
             return out.stream("x", {1}, dtype::u8, store().zstd(100)).and_then([](const tensor_stream&) {
                 return result<void>();
             });
         }},
    };
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

/// More of them, by writers of 1.2.
std::vector<refused_call> refused_by_1_2() {
    static const std::vector<std::uint8_t> one = {1};
    static const std::vector<float> three = {1, 2, 3};
    static const std::vector<std::int32_t> narrow = {1, 0, 2};
    static const std::vector<std::uint64_t> six(6);
    const auto add = [](object_draft draft) {
        return [draft = std::move(draft)](writer& out) { return out.add_object("x", draft); };
    };
    const auto& indices = three_indices;
    const auto& indptr = indptr_of_two_rows;
    const auto coo = [](const shape& dimensions, std::size_t coords) {
        return object_draft(format::sparse_coo, dimensions)
            .component("values", three)
            .component("coords", span<const std::uint64_t>(six).first(coords));
    };
    const auto quantized = [](std::size_t words, std::size_t scales, std::size_t zeros) {
        static const std::vector<std::uint32_t> packed(8);
        static const std::vector<float> parameters(8);
        return object_draft(format::quantized_group, {2, 16})
            .component("packed_weight", span<const std::uint32_t>(packed).first(words))
            .component("scales", span<const float>(parameters).first(scales))
            .component("zeros", span<const float>(parameters).first(zeros))
            .attributes(attributes().set("bits", 4).set("group_size", 8).set("packing", "8_per_u32"));
    };
    return {
        {"no components", "schema_missing", add(object_draft(format::dense, {1}))},
        {"dense without data", "layout_components", add(object_draft(format::dense, {1}).component("values", one))},
        {"csr without indptr", "layout_components",
         add(object_draft(format::sparse_csr, {2, 3}).component("values", three).component("indices", indices))},
        {"coo without coords", "layout_components",
         add(object_draft(format::sparse_coo, {3}).component("values", three))},
        {"quantized without zeros", "layout_components",
         add(object_draft(format::quantized_group, {1}).component("packed_weight", one).component("scales", one))},
        {"csr of rank 1", "sparse_shape", add(csr_draft({2}, 3, 3))},
        {"csr of rank 3", "sparse_shape", add(csr_draft({2, 3, 1}, 3, 3))},
        {"csr with too few indices", "sparse_size", add(csr_draft({2, 3}, 2, 3))},
        {"csr with too few row pointers", "sparse_size", add(csr_draft({2, 3}, 3, 2))},
        {"csr with too many row pointers", "sparse_size", add(csr_draft({2, 3}, 3, 4))},
        {"csr whose rows + 1 overflow", "shape_overflow", add(csr_draft({largest, 0}, 3, 1))},
        {"csr with indices of i32", "sparse_dtype",
         add(object_draft(format::sparse_csr, {2, 3})
                 .component("values", three)
                 .component("indices", narrow)
                 .component("indptr", indptr))},
        {"csr with indptr of i32", "sparse_dtype",
         add(object_draft(format::sparse_csr, {2, 3})
                 .component("values", three)
                 .component("indices", indices)
                 .component("indptr", narrow))},
        {"coo of rank 0", "sparse_shape", add(coo({}, 3))},
        {"coo with too few coords", "sparse_size", add(coo({4, 4}, 5))},
        {"coo with too many coords", "sparse_size", add(coo({4}, 6))},
        {"coo with coords of f32", "sparse_dtype",
         add(object_draft(format::sparse_coo, {3}).component("values", three).component("coords", three))},
        {"quantized with too few words", "size_mismatch", add(quantized(3, 4, 4))},
        {"quantized with too many scales", "size_mismatch", add(quantized(4, 5, 4))},
        {"quantized with too few zeros", "size_mismatch", add(quantized(4, 4, 3))},
        {"a level in the last component", "invalid_argument",
         add(object_draft("own", {}).component("a", one).component("b", one, store().zstd(99)))},
        {"big-endian data", "not_expressible",
         [](writer& out) { return out.add("x", {3}, three, store().big_endian()); }},
    };
}

} // namespace

TEST_CASE("what is refused writes nothing, and the writer goes on as if it had not been asked") {
    struct kind_of_file {
        format_version version;
        std::vector<refused_call> refusals;
    };
    std::vector<refused_call> all_of_1_2 = refused_by_all();
    for (const refused_call& each : refused_by_1_2()) {
        all_of_1_2.push_back(each);
    }
    for (const kind_of_file& kind :
         {kind_of_file{format_version::v1_2, all_of_1_2}, kind_of_file{format_version::v1_1, refused_by_all()},
          kind_of_file{format_version::v0_1, refused_by_all()}}) {
        const write_options options = write_options().version(kind.version);
        const auto add_taken = [](writer& out) { out.add("taken", {4}, four_floats).value(); };
        const auto add_rest = [](writer& out) {
            out.add("x", {2}, std::vector<std::int16_t>{1, 2}, store().zstd().digest(digest::crc32c)).value();
        };
        sink_log log;
        writer out = writer::to_sink(std::make_unique<scripted_sink>(log), options).value();
        add_taken(out);
        const std::size_t writes = log.writes;
        for (const refused_call& each : kind.refusals) {
            CAPTURE(static_cast<int>(kind.version), each.what);
            const std::string code = outcome(each.call(out));
            const bool is_by_version = kind.version == format_version::v0_1 && code == "not_expressible";
            CHECK((code == each.code || is_by_version));
            CHECK(log.writes == writes);
        }
        add_rest(out);
        for (const refused_call& each : kind.refusals) {
            CHECK(outcome(each.call(out)) != "ok");
        }
        out.finish().value();
        CHECK(log.is_published);
        CHECK(log.content == written(options, [&](writer& plain) {
                  add_taken(plain);
                  add_rest(plain);
              }));
    }
}

TEST_CASE("a refusal says which object and component it is about") {
    writer out = to_memory();
    const result<void> wrong_size = out.add("layer.weight", {3}, four_floats);
    REQUIRE(outcome(wrong_size) == "size_mismatch");
    CHECK(wrong_size.error().object() == "layer.weight");
    CHECK(wrong_size.error().component() == "data");
    CHECK_FALSE(wrong_size.error().offset().has_value());
    const result<void> bad_level = out.add("other", {4}, four_floats, store().zstd(23));
    CHECK(bad_level.error().object() == "other");
}

TEST_CASE("names up to 4,096 bytes are written") {
    const std::string longest(4096, 'n');
    const reader file = reopened({}, [&](writer& out) { out.add(longest, {4}, four_floats).value(); });
    CHECK(file.contains(longest));
}

TEST_CASE("a bool of another byte than 0 and 1 is not written since 1.0") {
    const std::vector<std::byte> bytes = from_hex("0001 02");
    for (const format_version version : {format_version::v1_2, format_version::v1_1}) {
        CAPTURE(static_cast<int>(version));
        const byte_vector content = written(write_options().version(version), [&](writer& out) {
            const result<void> added = out.add_bytes("x", {3}, dtype::boolean, bytes);
            CHECK(outcome(added) == "bad_bool");
        });
        CHECK(reader::from_bytes(content).value().empty());
    }
}

TEST_CASE("options that are refused leave the target as it was, in place too") {
    const temp_dir directory;
    support::write_file(directory / "w.zt", "what was there");
    for (const auto mode : {ztensor::publish_mode::replace, ztensor::publish_mode::in_place}) {
        CHECK(outcome(writer::create(directory / "w.zt", write_options().publish(mode).alignment_bytes(3))) ==
              "invalid_argument");
        CHECK(support::read_file(directory / "w.zt") == "what was there");
    }
}

TEST_CASE("text of an attribute that is not UTF-8 is refused") {
    writer out = to_memory();
    attributes values;
    values.set("k", "\xff\xfe");
    CHECK(outcome(out.attributes(values)) == "cbor_utf8");
    CHECK(outcome(out.attributes(attributes().merge(values))) == "cbor_utf8");
    CHECK(outcome(out.add_object(
              "w", object_draft(format::dense, {4}).component("data", four_floats).attributes(values))) == "cbor_utf8");
    CHECK(outcome(out.attributes(attributes(values).remove("k"))) == "ok");
    CHECK(outcome(out.attributes(attributes(values).merge(attributes().set("k", "right")))) == "ok");
    CHECK(outcome(out.attributes(values.set("k", "\xc3\xa4"))) == "ok");
}

TEST_CASE("a type that repeats the dtype, or has a word of its own in 1.1, is no obstacle") {
    const auto options = write_options().version(format_version::v1_1);
    const reader file = reopened(options, [](writer& out) {
        out.add("same", {4}, four_floats, store().type("f32")).value();
        out.add("complex", {2}, four_floats, store().type("complex64")).value();
    });
    CHECK(file.find("same").value().data().value().type().text().empty());
    CHECK(file.find("complex").value().data().value().type().text() == "complex64");
    const reader oldest = reopened(write_options().version(format_version::v0_1),
                                   [](writer& out) { out.add("same", {4}, four_floats, store().type("f32")).value(); });
    CHECK(oldest.read<float>("same").value() == four_floats);
}
