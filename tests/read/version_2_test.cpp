// SPDX-License-Identifier: MIT
//
// What the types, layouts and encodings of version 2 give to whoever reads them: values against those worked out by
// hand from the text, over the files of tests/corpus/v2.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"

#include <ztensor/ztensor.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using support::refusal;
using ztensor::errc;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;

const std::filesystem::path files_2 = "tests/corpus/v2";

reader open_2(const std::string& name) {
    return reader::open(files_2 / (name + ".zt")).value();
}

/// Of bytes 0, 1, 2, … the number in four bits at that place, the low half of a byte first.
int nibble_of_counting(int place) {
    return place / 2 >> place % 2 * 4 & 15;
}

float f4(int bits) {
    constexpr float values[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    return bits < 8 ? values[bits] : -values[bits - 8];
}

std::vector<float> weights_in(const std::string& file) {
    return open_2("valid/" + file).read_as<float>("w").value();
}

} // namespace

TEST_CASE("bools of version 2 are read as such, as bytes and as numbers") {
    const reader file = open_2("valid/reference-canonical");
    CHECK(file.read<bool>("mask").value() == std::vector<bool>{false, true, true});
    CHECK(file.read<std::uint8_t>("mask").value() == std::vector<std::uint8_t>{0, 1, 1});
    CHECK(file.read_as<float>("mask").value() == std::vector<float>{0, 1, 1});
    CHECK(file.find("mask").value().data().value().type().text() == "bool");
    CHECK(file.find("mask").value().data().value().dtype() == ztensor::dtype::u8);
    CHECK(refusal(file.read<bool>("b")) == errc::type_mismatch);
    const reader bad = open_2("reject/type-a-bool-of-2");
    CHECK(refusal(bad.read<bool>("w")) == errc::bad_bool);
    CHECK(refusal(bad.read_as<float>("w")) == errc::bad_bool);
    CHECK(bad.read<std::uint8_t>("w").value().back() == 2);
}

TEST_CASE("packed floats are viewed as bytes and read as numbers") {
    const reader file = open_2("valid/reference-many");
    CHECK(file.view<std::uint8_t>("typed/f4_e2m1").value().size() == 2);
    CHECK(file.read_as<float>("typed/f4_e2m1").value() == std::vector<float>{0.5F, 1, 1.5F}); // 0x21 0x03
    CHECK(file.read_as<double>("typed/f4_e2m1").value() == std::vector<double>{0.5, 1, 1.5});
    std::vector<float> three(3);
    CHECK(file.read_as_into("typed/f4_e2m1", three));
    CHECK(three == std::vector<float>{0.5F, 1, 1.5F});
    std::vector<float> four(4);
    CHECK(refusal(file.read_as_into("typed/f4_e2m1", four)) == errc::size_mismatch);
    CHECK(refusal(open_2("reject/type-a-nibble-behind-the-last-f4").read_as<float>("w")) == errc::bad_padding);
    const std::vector<float> powers = file.read_as<float>("typed/f8_e8m0").value(); // 0x21 0x03 0x01
    CHECK(powers ==
          std::vector<float>{std::ldexp(1.0F, 0x21 - 127), std::ldexp(1.0F, 3 - 127), std::ldexp(1.0F, 1 - 127)});
}

TEST_CASE("microscaled weights are elements times the scale of their block") {
    const std::vector<float> found = weights_in("mx-mx");
    REQUIRE(found.size() == 64);
    for (int i = 0; i < 64; ++i) {
        CAPTURE(i);
        CHECK(found[static_cast<std::size_t>(i)] == f4(nibble_of_counting(i)) * (i < 32 ? 1.0F : 2.0F));
    }
    const std::vector<float> down = weights_in("mx-mx-along-the-first-axis"); // 32 rows of 2: a block is a column
    for (int i = 0; i < 64; ++i) {
        CAPTURE(i);
        CHECK(down[static_cast<std::size_t>(i)] == f4(nibble_of_counting(i)) * (i % 2 == 0 ? 1.0F : 2.0F));
    }
    const std::vector<float> integers = weights_in("mx-mx-of-i8"); // with six bits behind the point
    for (int i = 0; i < 64; ++i) {
        CAPTURE(i);
        CHECK(integers[static_cast<std::size_t>(i)] == static_cast<float>(i) / 64 * (i < 32 ? 1.0F : 2.0F));
    }
    CHECK(std::isnan(weights_in("mx-mx-with-a-NaN-scale").at(1)));
    CHECK(weights_in("mx-mx-of-nothing").empty());
    CHECK(refusal(open_2("valid/mx-mx-of-an-unknown-element").read_as<float>("w")) == errc::unsupported_type);
}

TEST_CASE("quantized weights are codes less their zero, times the scale of their group") {
    const auto scale_of = [](int i) { return static_cast<float>(i / 2 / 32 * 2 + i % 2 + 1); }; // 64 rows of 2
    const auto check = [](const std::vector<float>& found, auto expected) {
        for (int i = 0; i < static_cast<int>(found.size()); ++i) {
            CAPTURE(i);
            CHECK(found[static_cast<std::size_t>(i)] == expected(i));
        }
    };
    const auto code = [](int i) { return static_cast<float>(nibble_of_counting(i)); };
    check(weights_in("group-implied-zero"), [&](int i) { return (code(i) - 8) * scale_of(i); });
    check(weights_in("group-signed-words"), [&](int i) { return (code(i) - 8) * scale_of(i); });
    check(weights_in("group-no-zero"), [&](int i) { return code(i) * scale_of(i); });
    check(weights_in("group-most-significant-first"), [&](int i) { return (code(i ^ 7) - 8) * scale_of(i); });
    check(weights_in("group-plain-zeros"),
          [&](int i) { return (code(i) - (scale_of(i) - 1)) * scale_of(i); }); // zeros are 0, 1, 2, 3
    check(weights_in("group-a-scale-for-each-code"), [&](int i) { return (code(i) - 8) * static_cast<float>(i); });
    check(weights_in("group-exponents"),
          [&](int i) { return (code(i) - 8) * std::ldexp(0.5F, static_cast<int>(scale_of(i))); });
    const float zeros[] = {2, 1, 4, 3, 6, 5, 8, 7}; // 0x12 0x34 0x56 0x78
    check(weights_in("group-packed-zeros"), [&](int i) {
        const int group = i / 4 / 32 * 4 + i % 4;
        return (code(i) - zeros[group]) * static_cast<float>(group);
    });
    check(weights_in("group-bytes"), [&](int i) { return (static_cast<float>(i) - 8) * scale_of(i); });
    CHECK(weights_in("group-groups-of-nothing").empty());
}

TEST_CASE("a group of version 2 is viewed like one of 1.2") {
    const reader file = open_2("valid/group-implied-zero");
    const auto view = ztensor::quantized_view::from(file.find("w").value()).value();
    CHECK(view.bits() == 4);
    CHECK(view.group_size() == 32);
    CHECK(view.axis() == 0);
    CHECK_FALSE(view.has_zeros());
    CHECK(view.group_shape() == ztensor::shape{2, 2});
    CHECK(view.dequantize().value() == weights_in("group-implied-zero"));
    const std::vector<std::uint8_t> codes = view.unpack().value();
    REQUIRE(codes.size() == 128);
    CHECK(codes[3] == 0);
    CHECK(codes[34] == 1);
    CHECK(view.unpack<std::uint32_t>().value()[34] == 1);
    CHECK(refusal(file.read<std::uint32_t>("w")) == errc::unsupported_format);
}

TEST_CASE("sparse objects of version 2 have views, and their rules hold there") {
    const reader file = open_2("valid/sparse-csr");
    const auto csr = ztensor::csr_view<float>::from(file.find("w").value()).value();
    CHECK(csr.entry_count() == 2);
    CHECK(csr.values()[1] == 2);
    for (const char* broken : {"reject/sparse-csr-with-a-column-twice", "reject/sparse-csr-with-columns-that-fall"}) {
        CAPTURE(broken);
        const reader bad = open_2(broken);
        CHECK(refusal(ztensor::csr_view<float>::from(bad.find("w").value())) == errc::sparse_order);
    }
    const reader twice = open_2("reject/sparse-coo-with-a-cell-twice--not-in-a-row");
    CHECK(refusal(ztensor::coo_view<float>::from(twice.find("w").value())) == errc::sparse_order);
    const reader any_order = open_2("valid/sparse-coo-in-any-order");
    CHECK(ztensor::coo_view<float>::from(any_order.find("w").value()).value().entry_count() == 2);
    const reader packed = open_2("valid/sparse-csr-of-f4");
    CHECK(refusal(ztensor::csr_view<std::byte>::from(packed.find("w").value())) == errc::unsupported_type);
}

TEST_CASE("a slice of seekable zstd reads the frames that it lies in, and the table") {
    const reader file = open_2("valid/zstd-seekable-zstd"); // 2,000 numbers, 750 to a frame
    CHECK(file.read<std::uint32_t>("w").value()[1999] == 1999);
    CHECK(file["w"].rows(749, 751).read<std::uint32_t>().value() == std::vector<std::uint32_t>{749, 750});
    CHECK(file["w"].rows(0, 2000).read<std::uint32_t>().value() == file.read<std::uint32_t>("w").value());
    CHECK(file["w"].rows(1999, 2000).read<std::uint32_t>().value() == std::vector<std::uint32_t>{1999});
    CHECK(file["w"].rows(5, 5).read<std::uint32_t>().value().empty());
    const reader damaged = open_2("reject/zstd-a-frame-is-damaged"); // the first
    CHECK(refusal(damaged["w"].rows(749, 751).read<std::uint32_t>()) == errc::decode_failed);
    CHECK(damaged["w"].rows(750, 2000).read<std::uint32_t>().value().back() == 1999);
    CHECK(refusal(damaged.read<std::uint32_t>("w")) == errc::decode_failed);
}

TEST_CASE("digests of version 2 are of decoded bytes, and checked when they are read") {
    const reader file = open_2("reject/zstd-another-digest");
    CHECK(refusal(file.read<std::uint32_t>("w")) == errc::digest_mismatch);
    CHECK(file.find("w").value().data().value().verify().value() == ztensor::digest_state::mismatch);
    const auto unchecked =
        reader::open(files_2 / "reject/zstd-another-digest.zt", ztensor::read_options().verify_digests(false));
    CHECK(unchecked.value().read<std::uint32_t>("w").value().size() == 2000);
    const reader intact = open_2("valid/zstd-seekable-zstd");
    CHECK(intact.verify().value().complete());
}

TEST_CASE("what an appended file held before is not seen") {
    const reader file = open_2("valid/reference-appended");
    CHECK(file.size() == 4);
    CHECK(file.read<std::uint32_t>("later").value() == std::vector<std::uint32_t>{7});
    CHECK(file.verify().value().complete());
}

TEST_CASE("the parts of an object of version 2 are counted") {
    const auto opened = [](std::uint64_t most) {
        return support::outcome(reader::open(files_2 / "valid/group-plain-zeros.zt",
                                             ztensor::read_options().max_components_per_object(most)));
    };
    CHECK(opened(3) == "ok");
    CHECK(opened(2) == "limit_exceeded");
}

TEST_CASE("shards are found by name, by digest and by what they hold") {
    const std::string data = support::read_file(files_2 / "sharded/model-00001.zt");
    const std::string whole = support::read_file(files_2 / "sharded/model-b-2.zt");
    const auto places = std::vector<std::pair<std::string, std::string>>{
        {"model-00001.zt", "model-b-2.zt"},
        {"renamed", "anything.bin"},
        {"blobs/" + ztensor::digest_text(ztensor::digest::xxh3, support::to_vector(data)).replace(4, 1, "/"),
         "blobs/" + ztensor::digest_text(ztensor::digest::sha256, support::to_vector(whole)).replace(6, 1, "/")}};
    for (const auto& [first, second] : places) {
        CAPTURE(first);
        const bool has_name = first != "renamed";
        const auto lookup = has_name ? ztensor::shard_lookup::beside : ztensor::shard_lookup::by_digest;
        const support::temp_dir folder;
        const auto put = [&](const std::string& name, const std::string& content) {
            std::filesystem::create_directories((folder / name).parent_path());
            support::write_file(folder / name, content);
        };
        put("model.zt", support::read_file(files_2 / "sharded/model.zt"));
        put(first, data);
        put(second, whole);
        for (const ztensor::io_mode mode : {ztensor::io_mode::automatic, ztensor::io_mode::positional}) {
            const auto options = ztensor::read_options().mode(mode);
            CHECK(support::outcome(reader::open(folder / "model.zt", options)) == (has_name ? "ok" : "shard_missing"));
            const reader file =
                reader::open(folder / "model.zt", ztensor::read_options(options).shards(lookup)).value();
            CHECK(file["a"].rows(1, 2).read<std::uint8_t>().value().front() == 100);
            CHECK(file.read<std::uint8_t>("b").value() == std::vector<std::uint8_t>(5000, 'x'));
            CHECK(file.find("a").value().data().value().shard() == "00001");
            CHECK(file.find("a").value().data().value().offset() == 4096);
            CHECK(file.find("c").value().data().value().shard().empty());
            CHECK(file.verify().value().complete());
            if (file.is_mapped()) {
                CHECK(file.view<std::uint8_t>("a").value()[199] == 199);
            }
        }
    }
}

TEST_CASE("shards that are missing are all named, and others than the root means are refused") {
    const support::temp_dir folder;
    const std::string root = support::read_file(files_2 / "sharded/model.zt");
    std::string data = support::read_file(files_2 / "sharded/model-00001.zt");
    support::write_file(folder / "model.zt", root);
    const result<reader> without = reader::open(folder / "model.zt");
    REQUIRE(refusal(without) == errc::shard_missing);
    CHECK(without.error().what().find("\"00001\"") != std::string::npos);
    CHECK(without.error().what().find("\"b-2\"") != std::string::npos);

    support::write_file(folder / "model-00001.zt", data);
    const result<reader> without_one = reader::open(folder / "model.zt"); // which comes before the other in the table
    REQUIRE(refusal(without_one) == errc::shard_missing);
    CHECK(without_one.error().what().find("\"00001\"") == std::string::npos);
    CHECK(without_one.error().what().find("\"b-2\"") != std::string::npos);

    support::write_file(folder / "model-b-2.zt", support::read_file(files_2 / "sharded/model-b-2.zt"));
    support::write_file(folder / "model-00001.zt", data.substr(1));
    CHECK(refusal(reader::open(folder / "model.zt")) == errc::shard_mismatch); // the size
    data[data.size() - 16] = 3;
    support::write_file(folder / "model-00001.zt", data);
    CHECK(refusal(reader::open(folder / "model.zt")) == errc::shard_mismatch); // the version
    data[data.size() - 16] = 2;
    data[20] = 1;
    support::write_file(folder / "model-00001.zt", data);
    const reader padded = reader::open(folder / "model.zt").value(); // the digest, which only verifying looks at
    CHECK(padded.read<std::uint8_t>("a").value().size() == 6000);
    CHECK(refusal(padded.verify()) == errc::shard_mismatch);

    const auto nowhere = ztensor::read_options().shards(ztensor::shard_lookup::none);
    const reader unasked = reader::open(folder / "model.zt", nowhere).value();
    CHECK(refusal(unasked.read<std::uint8_t>("a")) == errc::shard_missing);
    CHECK(unasked.read<std::uint8_t>("c").value().size() == 8);

    const reader alone = reader::from_bytes(support::to_vector(root)).value();
    CHECK(refusal(alone.read<std::uint8_t>("a")) == errc::shard_missing);
    CHECK(alone.read<std::uint8_t>("c").value().size() == 8);
}

TEST_CASE("errors of what is not there, or of another kind, name the file and the object") {
    const support::temp_dir folder;
    {
        ztensor::writer out = ztensor::writer::create(folder / "f.zt").value();
        out.add("w", {2}, std::vector<float>{1, 2}).value();
        out.finish().value();
    }
    const std::string path = (folder / "f.zt").string();
    const reader file = reader::open(path).value();
    for (const ztensor::error& each : {file.find("x").error(), file.read<float>("x").error()}) {
        CHECK(each.code() == errc::object_not_found);
        CHECK(each.object() == "x");
        CHECK(each.path() == path);
    }
    const reader typed = open_2("valid/mx-mx");
    for (const ztensor::object_view& object : typed) {
        for (const ztensor::attribute& each : object.attributes()) {
            const auto wrong = each.value().byte_string();
            REQUIRE(refusal(wrong) == errc::attribute_type);
            CHECK(wrong.error().object() == object.name());
            CHECK(wrong.error().path() == typed.path());
            const auto found = object.attributes().find(each.key)->value().byte_string();
            CHECK(found.error().path() == typed.path());
        }
    }
}

TEST_CASE("shards are not followed through links that lead away") {
    const support::temp_dir root;
    const std::filesystem::path folder = root / "folder";
    std::filesystem::create_directory(folder);
    for (const char* const each : {"model.zt", "model-00001.zt", "model-b-2.zt"}) {
        support::write_file(root / each, support::read_file(files_2 / "sharded" / each));
    }
    std::error_code refused;
    std::filesystem::create_symlink("../model-00001.zt", folder / "model-00001.zt", refused);
    if (refused) {
        WARN("symbolic links can't be made here");
        return;
    }
    std::filesystem::copy_file(root / "model.zt", folder / "model.zt");
    std::filesystem::copy_file(root / "model-b-2.zt", folder / "model-b-2.zt");
    const result<reader> away = reader::open(folder / "model.zt");
    REQUIRE(refusal(away) == errc::name_invalid);
    CHECK(away.error().what().find("follow_links()") != std::string::npos);
    CHECK(support::outcome(reader::open(folder / "model.zt", ztensor::read_options().follow_links())) == "ok");
    std::filesystem::remove(folder / "model.zt"); // in a folder of links, shards lie where the root lies
    std::filesystem::create_symlink("../model.zt", folder / "model.zt");
    CHECK(support::outcome(reader::open(folder / "model.zt")) == "ok");
}

TEST_CASE("packed elements are looked at where they lie") {
    const reader file = open_2("valid/reference-many");
    const auto part = file.find("typed/f4_e2m1").value().data().value();
    const ztensor::packed_view packed = ztensor::packed_view::from(part).value();
    REQUIRE(packed.size() == 3);
    CHECK(packed[0] == 1);
    CHECK(packed[1] == 2);
    CHECK(packed.value(2) == 1.5F);
    CHECK(packed.bytes().size() == 2);
    CHECK(refusal(ztensor::packed_view::from(file.find("scalar").value().data().value())) == errc::unsupported_type);
    const reader bad = open_2("reject/type-a-nibble-behind-the-last-f4");
    CHECK(refusal(ztensor::packed_view::from(bad.find("w").value().data().value())) == errc::bad_padding);
}

TEST_CASE("strict reading of version 2 refuses shared blobs, and takes its padding and its order of names") {
    const auto strict = ztensor::read_options().strict();
    CHECK(reader::open(files_2 / "valid/sparse-csr.zt", strict));
    CHECK(reader::open(files_2 / "valid/mx-mx.zt", strict));
    CHECK(reader::open(files_2 / "valid/reference-empty.zt", strict));
    CHECK(reader::open(files_2 / "valid/container-a-data-shard.zt", strict));
    CHECK(reader::open(files_2 / "sharded/model.zt", strict));
    CHECK(refusal(reader::open(files_2 / "valid/reference-canonical.zt", strict)) == errc::strict_alias);
}

TEST_CASE("a data shard is an empty file that says what it is") {
    const reader file = open_2("valid/container-a-data-shard");
    CHECK(file.is_data_shard());
    CHECK(file.empty());
    CHECK(file.version() == ztensor::version::v2);
    CHECK_FALSE(open_2("valid/container-an-empty-model").is_data_shard());
}

TEST_CASE("a plan loads packed and grouped weights as an object reads them") {
    for (const char* const file :
         {"type-15-f4", "type-16-f4", "mx-mx", "mx-mx-of-i8", "group-packed-zeros", "group-exponents"}) {
        CAPTURE(file);
        const reader from = open_2(std::string("valid/") + file);
        const std::vector<float> expected = from.read_as<float>("w").value();
        std::vector<float> floats(expected.size());
        ztensor::load_plan plan(from);
        plan.add_as("w", floats);
        CHECK(plan.check().value() > 0);
        CHECK(plan.run());
        CHECK(floats == expected);

        std::vector<double> too_few(expected.size() - 1);
        CHECK(refusal(ztensor::load_plan(from).add_as("w", too_few).check()) == errc::size_mismatch);
    }
    std::vector<float> one(15);
    const reader bad = open_2("reject/type-a-nibble-behind-the-last-f4");
    CHECK(refusal(ztensor::load_plan(bad).add_as("w", one).run()) == errc::bad_padding);
    std::vector<float> unknown(64);
    const reader vendor = open_2("valid/mx-mx-of-an-unknown-element");
    CHECK(refusal(ztensor::load_plan(vendor).add_as("w", unknown).check()) == errc::unsupported_type);
}
