// SPDX-License-Identifier: MIT
//
// One budget for a call: whatever decoded elements grow to on their way, max_decoded_bytes bounds it. And what a call
// does with null, with paths that lie, with sources that throw.
#include "read/read_samples.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/array.hpp>
#include <ztensor/io.hpp>
#include <ztensor/reader.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <zstd.h>

namespace {

using support::outcome;
namespace files = support;
using ztensor::read_options;
using ztensor::reader;

support::bytes one_zstd_frame(const support::bytes& content, bool states_size) {
    support::bytes out(ZSTD_compressBound(content.size()), '\0');
    ZSTD_CCtx* const context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, states_size ? 1 : 0);
    out.resize(ZSTD_compress2(context, out.data(), out.size(), content.data(), content.size()));
    ZSTD_freeCCtx(context);
    return out;
}

} // namespace

TEST_CASE("numbers wider than what is stored take no more than the limit, however they come to be known") {
    const support::bytes content(1000, 'x');
    const auto dense = files::sample().dtype("u8").shape({1000});
    auto raw = dense;
    auto packed = dense;
    auto unsized =
        files::sample(ztensor::version::v1_1).dtype("u8").shape({1000}).object("format", support::cbor::text("own"));
    raw.blob(content);
    packed.zstd_blob(one_zstd_frame(content, true), 1000);
    unsized.zstd_blob(one_zstd_frame(content, true), 1000);
    for (const auto* each : {&raw, &packed, &unsized}) {
        const auto with_limit = [&](std::uint64_t most) {
            return support::opened(each->file(), read_options().max_decoded_bytes(most));
        };
        const auto read_doubles = [](const reader& file) { return outcome(support::data_of(file).read_as<double>()); };
        CHECK(read_doubles(with_limit(8000)) == "ok");
        CHECK(read_doubles(with_limit(7999)) == "limit_exceeded");
        CHECK(outcome(support::data_of(with_limit(7999)).read_as<float>()) == "ok");
        // The caller's own memory is the caller's affair.
        std::vector<double> into(1000);
        CHECK(outcome(support::data_of(with_limit(1000)).read_as_into(into)) == "ok");
    }
}

TEST_CASE("a size that the frames state is believed when memory is made, and checked when they are decoded") {
    const support::bytes content(std::size_t{3} << 20, 'x');
    for (const bool states_size : {true, false}) {
        auto file = files::sample(ztensor::version::v1_1)
                        .dtype("u8")
                        .shape({content.size()})
                        .object("format", support::cbor::text("own"));
        file.zstd_blob(one_zstd_frame(content, states_size), content.size());
        const reader opened = support::opened(file.file());
        REQUIRE(outcome(support::data_of(opened).read<std::byte>()) == "ok"); // so that threads have their decoders
        const support::memory_use use =
            support::measure_memory([&] { return support::data_of(opened).load<std::byte>(); });
        CAPTURE(states_size, use.most);
        if (support::counts_memory) {
            CHECK(use.most <= (states_size ? 1 : 2) * content.size() + content.size() / 2);
        }
    }
}

TEST_CASE("no source is an error, and a reader that was moved from is still one") {
    CHECK(outcome(reader::from_source(nullptr)) == "invalid_argument");
    reader first = support::opened(read_samples::twelve_floats().file());
    const reader second = std::move(first);
    CHECK(first.size() == 1); // NOLINT: moved from on purpose
    CHECK(first.contains("w"));
    CHECK(outcome(first.read<float>("w")) == "ok");
    CHECK(outcome(second.read<float>("w")) == "ok");
}

TEST_CASE("a path that holds U+0000 opens nothing") {
    const support::temp_dir directory;
    support::write_file(directory / "a.zt", read_samples::twelve_floats().file());
    const std::string path = (directory / "a.zt").string();
    REQUIRE(outcome(reader::open(path)) == "ok");
    for (const ztensor::io_mode mode :
         {ztensor::io_mode::automatic, ztensor::io_mode::mapped, ztensor::io_mode::positional}) {
        const auto refused = reader::open(path + std::string("\0.b", 3), read_options().mode(mode));
        CHECK(outcome(refused) == "invalid_argument");
    }
}

#if ZTENSOR_HAS_EXCEPTIONS

namespace {

/// Throws once it is told to, on whichever thread.
class throwing_source final : public ztensor::byte_source {
public:
    explicit throwing_source(const support::bytes& content) : content_(support::to_vector(content)) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
    [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset,
                                                ztensor::span<std::byte> destination) const override {
        if (throws) {
            throw std::runtime_error("the connection was lost");
        }
        for (std::size_t i = 0; i < destination.size(); ++i) {
            destination[i] = content_[static_cast<std::size_t>(offset) + i];
        }
        return {};
    }

    std::atomic<bool> throws{false};

private:
    support::byte_vector content_;
};

} // namespace

TEST_CASE("what a source throws while several threads read comes to the caller, from every call") {
    files::sample file;
    file.component("digest", support::cbor::text("crc32c:00000000"));
    const auto source = std::make_shared<throwing_source>(file.file());
    const reader opened = reader::from_source(source).value();
    source->throws = true;
    for (const unsigned threads : {1U, 4U}) {
        CHECK_THROWS_AS((void)opened.verify(threads), std::runtime_error);
    }
    CHECK_THROWS_AS((void)opened.read<float>("w"), std::runtime_error);
    CHECK_THROWS_AS((void)opened.read_as<double>("w"), std::runtime_error);
    CHECK_THROWS_AS((void)opened["w"].rows(0, 1).read<float>(), std::runtime_error);
    source->throws = false;
    CHECK(opened.verify(4).value().mismatches.size() == 1);
}

#endif
