// SPDX-License-Identifier: MIT
//
// What exports refuse or say otherwise at their limits: archives beyond 4 GiB, names, types over other storage, headers
// that are too long, tensors that change while they are read.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/detail/transfer/export_formats.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace export_limits {

using support::little_endian;
using support::outcome;
using support::refusal;
using support::temp_dir;
using ztensor::dtype;
using ztensor::errc;
using ztensor::export_options;
using ztensor::reader;
using ztensor::result;
using ztensor::store;
using ztensor::writer;

/// Keeps the short pieces, and of the others how long they are.
class sparse_sink final : public ztensor::byte_sink {
public:
    explicit sparse_sink(std::string& kept) : kept_(kept) {}
    result<void> write(ztensor::bytes_view bytes) override {
        if (bytes.size() < 4096) {
            kept_ += support::as_string(bytes);
        }
        return {};
    }
    result<void> finish() override { return {}; }

private:
    std::string& kept_;
};

/// Of this content, until so many reads were made of it: then every byte is one more.
class restless_source final : public ztensor::byte_source {
public:
    restless_source(support::byte_vector content, std::size_t calm_reads)
        : content_(std::move(content)), calm_reads_(calm_reads) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] result<void> read_at(std::uint64_t offset, ztensor::span<std::byte> into) const override {
        std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        if (reads_++ >= calm_reads_) {
            into[0] ^= std::byte{1};
        }
        return {};
    }

private:
    support::byte_vector content_;
    std::size_t calm_reads_;
    mutable std::size_t reads_ = 0;
};

reader written_file(const support::fill_function& fill) {
    return support::reopened({}, fill);
}

reader with_type(const char* type, std::uint64_t elements, ztensor::bytes_view content, dtype storage = dtype::u8) {
    return written_file([&](writer& to) {
        ztensor::object_draft draft("dense", {elements});
        to.add_object("w", draft.component_bytes("data", storage, content, store().type(type))).value();
    });
}

} // namespace export_limits

} // namespace

TEST_CASE("entries and directories beyond 4 GiB have their numbers in ZIP64 fields") {
    using namespace export_limits;
    std::string kept;
    sparse_sink sink(kept);
    ztensor::detail::zip_writer zip(sink);
    constexpr std::uint64_t large = (std::uint64_t{1} << 32) + (std::uint64_t{1} << 26);
    REQUIRE(zip.begin_entry("a.npy", large, 0x12345678));
    const std::size_t local_bytes = kept.size();
    CHECK(local_bytes == 64);
    const std::vector<std::byte> piece(std::size_t{1} << 26);
    for (std::uint64_t at = 0; at < large; at += piece.size()) {
        REQUIRE(zip.write(piece));
    }
    REQUIRE(zip.begin_entry("b.npy", 3, 1));
    const std::string second = kept.substr(local_bytes);
    REQUIRE(zip.write(support::bytes_of("abc")));
    REQUIRE(zip.finish());

    // APPNOTE.TXT 4.3.7, 4.5.3: the local header of what is large, with both sizes behind a mark.
    const std::string mark = little_endian(0xffffffff, 4);
    const std::string sizes = little_endian(large, 8) + little_endian(large, 8);
    CHECK(kept.substr(0, 6) == "PK\3\4" + little_endian(45, 2));
    CHECK(kept.substr(18, 8) == mark + mark);
    CHECK(kept.substr(35, 20) == little_endian(1, 2) + little_endian(16, 2) + sizes);
    CHECK(second.substr(0, 6) == "PK\3\4" + little_endian(45, 2)); // whose place needs it
    CHECK(second.substr(18, 4) == little_endian(3, 4));

    // 4.3.12: in the directory the place follows, where that is large, too.
    const std::uint64_t second_at = local_bytes + large;
    const std::size_t directory = kept.find("PK\1\2");
    REQUIRE(directory != std::string::npos);
    const std::string first_entry = kept.substr(directory, 46 + 5 + 20);
    CHECK(first_entry.substr(20, 8) == mark + mark);
    CHECK(first_entry.substr(46) == "a.npy" + little_endian(1, 2) + little_endian(16, 2) + sizes);
    const std::string second_entry = kept.substr(directory + first_entry.size(), 46 + 5 + 12);
    CHECK(second_entry.substr(0, 4) == "PK\1\2");
    CHECK(second_entry.substr(42, 4) == mark);
    CHECK(second_entry.substr(46) == "b.npy" + little_endian(1, 2) + little_endian(8, 2) + little_endian(second_at, 8));

    // 4.3.14 to 4.3.16: the end, and where it is.
    const std::string ends = kept.substr(directory + first_entry.size() + second_entry.size());
    const std::uint64_t directory_at = second_at + second.size() + 3;
    const std::uint64_t directory_bytes = first_entry.size() + second_entry.size();
    CHECK(ends.substr(0, 4) == "PK\6\6");
    CHECK(ends.substr(24, 32) == little_endian(2, 8) + little_endian(2, 8) + little_endian(directory_bytes, 8) +
                                     little_endian(directory_at, 8));
    CHECK(ends.substr(56, 4) == "PK\6\7");
    CHECK(ends.substr(64, 8) == little_endian(directory_at + directory_bytes, 8));
    CHECK(ends.substr(76, 4) == "PK\5\6");
    CHECK(ends.substr(88, 8) == little_endian(directory_bytes, 4) + mark);
    CHECK(ends.size() == 98);
}

TEST_CASE("an archive has no entries whose names are too long, or lead elsewhere") {
    using namespace export_limits;
    const temp_dir dir;
    const std::vector<float> one = {1};
    for (const std::string& name :
         {std::string(4093, 'x'), std::string("a/./b"), std::string("./a"), std::string("a/.")}) {
        const reader from = written_file([&](writer& to) { to.add(name, {1}, one).value(); });
        CHECK(refusal(ztensor::export_npz(from, dir / "m.npz")) == errc::not_expressible);
    }
    for (const std::string& name : {std::string(4092, 'x'), std::string("a/.b"), std::string("a./b")}) {
        const reader from = written_file([&](writer& to) { to.add(name, {1}, one).value(); });
        CHECK(outcome(ztensor::export_npz(from, dir / "m.npz")) == "ok");
    }
}

TEST_CASE("attributes of a file go into no archive, unless they are left out") {
    using namespace export_limits;
    const temp_dir dir;
    const reader from = written_file([](writer& to) {
        to.add("w", {1}, std::vector<double>{1}).value();
        to.attributes(ztensor::attributes().set("k", "v")).value();
    });
    CHECK(refusal(ztensor::export_npz(from, dir / "m.npz")) == errc::not_expressible);
    CHECK(outcome(ztensor::export_npz(from, dir / "m.npz", export_options().attributes(false))) == "ok");
}

TEST_CASE("a tensor that changes between its checksum and its bytes is no entry") {
    using namespace export_limits;
    const temp_dir dir;
    const support::byte_vector content =
        support::written({}, [](writer& to) { to.add("w", {100'000}, std::vector<float>(100'000, 1)).value(); });
    std::vector<std::string> outcomes;
    for (std::size_t calm = 0; calm < 10; ++calm) {
        const auto from = reader::from_source(std::make_shared<restless_source>(content, calm));
        outcomes.push_back(from ? outcome(ztensor::export_npz(*from, dir / "m.npz")) : outcome(from));
    }
    CHECK(outcomes.back() == "ok"); // which was read often enough
    CHECK(std::count(outcomes.begin(), outcomes.end(), "file_changed") == 1);
}

TEST_CASE("types that stand over other storage than their own are exported as nothing else") {
    using namespace export_limits;
    const temp_dir dir;
    const reader bools = with_type("bool", 2, support::bytes_of(std::string_view("\1\0", 2)));
    CHECK(refusal(ztensor::export_npz(bools, dir / "m")) == errc::not_expressible);
    // 2^62 elements of four bits, which no number counts.
    const reader many = with_type("f4", std::uint64_t{1} << 62, {});
    CHECK(refusal(ztensor::export_safetensors(many, dir / "m")) == errc::not_expressible);
    CHECK(dir.names().empty());
}

TEST_CASE("floats that are of the type asked for already stay as they are") {
    using namespace export_limits;
    const temp_dir dir;
    const std::vector<float> two = {1.5F, -2.0F};
    const reader from = written_file([&](writer& to) {
        to.add("d", {1}, std::vector<double>{0.5}).value();
        to.add("f", {2}, two).value();
    });
    for (const dtype floats : {dtype::f32, dtype::f64}) {
        CHECK(outcome(ztensor::export_npz(from, dir / "m.npz", export_options().floats_as(floats))) == "ok");
        const std::string archive = support::read_file(dir / "m.npz");
        CHECK((archive.find("<f8") != std::string::npos) == (floats == dtype::f64));
        CHECK((archive.find("<f4") != std::string::npos) == (floats == dtype::f32));
    }
}

TEST_CASE("a safetensors header is no longer than that library reads") {
    using namespace export_limits;
    const temp_dir dir;
    const reader from = written_file([](writer& to) {
        to.add("w", {1}, std::vector<float>{1}).value();
        to.attributes(ztensor::attributes().set("k", std::string(16'700'000, '\1'))).value(); // "\u0001" each
    });
    CHECK(refusal(ztensor::export_safetensors(from, dir / "m")) == errc::not_expressible);
    CHECK(dir.names().empty());
}
