// SPDX-License-Identifier: MIT
//
// Tensors in memory of their own or of the caller's: arrays, numbers converted on their way, and large blobs of many
// zstd frames.
#include "read/conversions.hpp"
#include "read/read_samples.hpp"
#include "support/catch.hpp"
#include "support/elements.hpp"
#include "support/executors.hpp"
#include "support/openings.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"
#include "support/zt_builder.hpp"

#include <ztensor/array.hpp>
#include <ztensor/detail/read/convert.hpp>
#include <ztensor/digest.hpp>
#include <ztensor/float_types.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <zstd.h>

namespace {

using read_samples::first_numbers;
using support::bytes;
using support::outcome;
using support::sample;
using ztensor::array;
using ztensor::read_options;
using ztensor::reader;
using ztensor::span;
namespace cbor = support::cbor;
namespace zstd = support::zstd;

bytes frame_of_level_1(std::string_view content) {
    bytes out(ZSTD_compressBound(content.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), content.data(), content.size(), 1));
    return out;
}

bytes frames_of(std::string_view content, std::size_t frame_bytes) {
    bytes blob;
    for (std::size_t at = 0; at < content.size(); at += frame_bytes) {
        blob += frame_of_level_1(content.substr(at, frame_bytes));
    }
    return blob;
}

std::string digest_of(const bytes& blob, ztensor::digest algorithm = ztensor::digest::crc32c) {
    return ztensor::digest_text(algorithm, support::bytes_of(blob));
}

/// Incompressible, so that blobs are as large as what they hold.
const bytes& three_mib() {
    static const bytes content = support::as_string(support::noise(std::size_t{3} << 20));
    return content;
}

sample bytes_compressed(const bytes& blob, std::size_t size) {
    return sample().dtype("u8").shape({size}).zstd_blob(blob, size);
}

} // namespace

static_assert(!std::is_copy_constructible_v<array<int>> && std::is_nothrow_move_constructible_v<array<int>>);

TEST_CASE("an array is aligned, moves, and converts to spans") {
    for (const std::size_t size : {0U, 1U, 1000U, 3U << 20, 5U << 20}) {
        CAPTURE(size);
        array<std::uint8_t> first(size);
        CHECK(first.size() == size);
        CHECK(first.empty() == (size == 0));
        CHECK(ztensor::detail::is_aligned({static_cast<const std::byte*>(static_cast<const void*>(first.data())), size},
                                          size >= (4U << 20) ? 2U << 20 : 64U));
        std::fill(first.begin(), first.end(), std::uint8_t{7});
        array<std::uint8_t> second = std::move(first);
        CHECK(first.size() == 0); // NOLINT: moved from on purpose
        first = std::move(second);
        const span<const std::uint8_t> view = std::as_const(first);
        const span<std::uint8_t> writable = first;
        CHECK(view.size() == size);
        CHECK(writable.data() == view.data());
        CHECK(std::count(view.begin(), view.end(), std::uint8_t{7}) == static_cast<std::ptrdiff_t>(size));
        array<std::uint8_t> other(5);
        other = std::move(first);
        CHECK(first.empty()); // NOLINT: what was in the other one is not in the first now
        CHECK(other.size() == size);
    }
}

TEST_CASE("load gives what read gives") {
    const support::temp_dir directory;
    for (const sample& file : {read_samples::twelve_floats(), read_samples::twelve_compressed(),
                               sample().dtype("bool").shape({3}).blob(bytes("\1\0\1", 3))}) {
        for (const support::opening& each : support::open_every_way(file.file(), directory)) {
            CAPTURE(each.way);
            const reader& opened = each.file.value();
            if (opened.find("w").value().element_count() == 3) {
                const array<bool> bools = opened.load<bool>("w").value();
                CHECK(std::vector<bool>(bools.begin(), bools.end()) == opened.read<bool>("w").value());
            } else {
                const array<float> floats = opened.load<float>("w").value();
                CHECK(std::vector<float>(floats.begin(), floats.end()) == first_numbers(12));
                CHECK(outcome(opened.load<double>("w")) == "type_mismatch");
            }
        }
    }
}

TEST_CASE("numbers are converted into the caller's memory as read_as converts them") {
    constexpr std::size_t count = 300007; // several blocks and a rest
    const bytes stored = support::as_string(support::noise(count * 8, 3));
    const support::temp_dir directory;
    for (const ztensor::dtype_facts& type : ztensor::dtypes) {
        const std::size_t width = ztensor::width_bytes(type.id);
        bytes content = stored.substr(0, count * width);
        if (type.id == ztensor::dtype::boolean) {
            std::transform(content.begin(), content.end(), content.begin(), [](char c) { return char(c & 1); });
        }
        const bytes frames = frames_of(content, 100003); // which cut elements
        sample raw = sample().dtype(type.name).shape({count}).blob(content);
        sample packed = sample().dtype(type.name).shape({count}).zstd_blob(frames, content.size());
        std::vector<float> expected(count);
        const auto of_host = support::to_vector(support::between_file_and_host(content, width));
        REQUIRE(support::convert_elements(ztensor::bytes_view(of_host), type.id, "", span<float>(expected)));
        for (const bool is_checked : {false, true}) {
            if (is_checked) {
                raw.component("digest", cbor::text(digest_of(content)));
                packed.component("digest", cbor::text(digest_of(frames)));
            }
            for (const bytes& file : {raw.file(), packed.file()}) {
                for (const support::opening& each : support::open_every_way(file, directory)) {
                    CAPTURE(type.name, each.way, is_checked);
                    std::vector<float> into(count, -1.0F);
                    REQUIRE(outcome(each.file.value().read_as_into("w", into)) == "ok");
                    CHECK(support::memory_of(into) == support::memory_of(expected));
                    CHECK(support::memory_of(each.file.value().read_as<float>("w").value()) ==
                          support::memory_of(expected));
                }
            }
        }
        raw.component("digest", cbor::text("crc32c:00000000"));
        std::vector<double> into(count);
        CHECK(outcome(support::opened(raw.file()).read_as_into("w", into)) == "digest_mismatch");
    }
}

TEST_CASE("numbers of the most significant byte first, and of the wrong number, are told apart") {
    sample file(ztensor::version::v0_1);
    file.dtype("i16").shape({3}).blob(bytes("\0\1\1\0\xff\xff", 6)).component("data_endianness", cbor::text("big"));
    std::vector<float> three(3);
    CHECK(outcome(support::opened(file.file()).read_as_into("w", three)) == "ok");
    CHECK(three == std::vector<float>{1, 256, -1});
    std::vector<float> four(4);
    CHECK(outcome(support::opened(file.file()).read_as_into("w", four)) == "size_mismatch");
    const reader unknown = support::opened(sample().component("type", cbor::text("what")).file());
    std::vector<float> two(2);
    CHECK(outcome(unknown.read_as_into("w", two)) == "unsupported_type");
    const reader unsized = support::opened(read_samples::values_of_unknown_size().file());
    const ztensor::component_view values = unsized.find("w").value().component("values").value();
    CHECK(outcome(values.read_as_into(two)) == "size_mismatch");
    CHECK(outcome(values.read_as_into(three)) == "ok");
    CHECK(three == std::vector<float>{1, 2, 3});
}

TEST_CASE("a large blob of frames of any size decodes on any number of threads, each byte of it read once") {
    const bytes& content = three_mib();
    const bytes half = content.substr(0, content.size() / 2);
    const bytes other_half = content.substr(half.size());
    const std::pair<const char*, bytes> blobs[] = {
        {"frames of a MiB", frames_of(content, std::size_t{1} << 20)},
        {"frames of all sizes", frames_of(half, 900001) + frames_of(other_half, 70001)},
        {"small frames", frames_of(content, 3001)},
        {"one frame", frame_of_level_1(content)},
        {"frames and what is skipped", zstd::skippable_frame(bytes(600000, 'x')) + frames_of(half, 500000) +
                                           zstd::skippable_frame("") + frames_of(other_half, 500000) +
                                           zstd::skippable_frame("y")},
        {"a frame that states no size behind others",
         frames_of(content.substr(0, content.size() - 70000), 800000) +
             zstd::frame(zstd::raw_block(content.substr(content.size() - 70000)))},
    };
    for (const auto& [what, blob] : blobs) {
        for (const unsigned threads : {1U, 2U, 5U}) {
            CAPTURE(what, threads);
            sample file = bytes_compressed(blob, content.size());
            file.component("digest", cbor::text(digest_of(blob)));
            const support::watched seen = support::watch(file.file(), false, read_options().threads(threads));
            CHECK(support::memory_of(seen.file.read<std::uint8_t>("w").value()) == content);
            CHECK(merged(seen.source->reads) == support::read_ranges{{64, blob.size()}});
            file.component("digest", cbor::text("crc32c:00000000"));
            CHECK(outcome(support::opened(file.file(), read_options().threads(threads)).read<std::uint8_t>("w")) ==
                  "digest_mismatch");
        }
    }
}

TEST_CASE("damage anywhere in a large blob is found") {
    const bytes& content = three_mib();
    const bytes good = frames_of(content, 400000);
    bytes no_magic = good;
    no_magic[frame_of_level_1(content.substr(0, 400000)).size()] = 'x';
    bytes turned = good;
    turned[good.size() / 2] = static_cast<char>(turned[good.size() / 2] ^ 0x10);
    const std::pair<bytes, std::string_view> blobs[] = {
        {no_magic, "decode_failed"},
        {good.substr(0, good.size() - 1), "decode_failed"},
        {good + "x", "decode_failed"},
        {good.substr(0, good.size() - frame_of_level_1(content.substr(content.size() / 400000 * 400000)).size()),
         "decode_size"},
        {good + frame_of_level_1("more"), "decode_size"},
    };
    for (const auto& [blob, code] : blobs) {
        for (const unsigned threads : {1U, 3U}) {
            CAPTURE(code, blob.size(), threads);
            const read_options options = read_options().threads(threads);
            sample file = bytes_compressed(blob, content.size());
            CHECK(outcome(support::opened(file.file(), options).read<std::uint8_t>("w")) == code);
            CHECK(support::opened(file.file(), options).read<std::uint8_t>("w").error().offset() == std::uint64_t{64});
            file.component("digest", cbor::text(digest_of(good))); // says more than what follows from it
            CHECK(outcome(support::opened(file.file(), options).read<std::uint8_t>("w")) == "digest_mismatch");
            file.component("digest", cbor::text(digest_of(blob, ztensor::digest::sha256)));
            CHECK(outcome(support::opened(file.file(), options).read<std::uint8_t>("w")) == code);
        }
    }
    sample file = bytes_compressed(turned, content.size()); // in the middle of a raw block, which only a digest covers
    file.component("digest", cbor::text(digest_of(good)));
    CHECK(outcome(support::opened(file.file()).read<std::uint8_t>("w")) == "digest_mismatch");
}

TEST_CASE("a source that fails in the middle of a large blob ends the reading with its error") {
    const bytes& content = three_mib();
    const bytes blob = frames_of(content, 200000);
    sample file = bytes_compressed(blob, content.size());
    file.component("digest", cbor::text(digest_of(blob)));
    for (std::size_t failing = 0; failing < 8; ++failing) {
        const support::watched seen = support::watch(file.file(), false, read_options().threads(3));
        seen.source->first_failing_read = failing;
        CHECK(outcome(seen.file.read<std::uint8_t>("w")) == "io_error");
        CHECK(seen.source->reads.size() == failing + 1);
    }
}

TEST_CASE("hints reach the source, and change nothing of what is read") {
    class hinted_source final : public ztensor::byte_source {
    public:
        explicit hinted_source(const bytes& content) : content_(support::to_vector(content)) {}
        [[nodiscard]] std::uint64_t size() const noexcept override { return content_.size(); }
        [[nodiscard]] ztensor::result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
            std::copy_n(content_.begin() + static_cast<std::ptrdiff_t>(offset), destination.size(),
                        destination.begin());
            return {};
        }
        void prefetch(std::uint64_t offset, std::uint64_t length) const noexcept override {
            fetched = {offset, length};
        }
        void evict(std::uint64_t offset, std::uint64_t length) const noexcept override { evicted = {offset, length}; }

        mutable support::read_range fetched = {0, 0};
        mutable support::read_range evicted = {0, 0};

    private:
        support::byte_vector content_;
    };
    const bytes content = read_samples::twelve_floats().file();
    const auto source = std::make_shared<hinted_source>(content);
    const reader hinted = reader::from_source(source).value();
    hinted.find("w").value().data().value().prefetch();
    hinted.find("w").value().data().value().evict();
    CHECK(source->fetched == support::read_range{64, 48});
    CHECK(source->evicted == support::read_range{64, 48});

    const bytes large = sample().dtype("u8").shape({three_mib().size()}).blob(three_mib()).file();
    const support::temp_dir directory;
    for (const support::opening& each : support::open_every_way(large, directory)) {
        CAPTURE(each.way);
        const reader& file = each.file.value();
        const ztensor::component_view data = file.find("w").value().data().value();
        data.prefetch();
        CHECK(support::memory_of(data.read<std::uint8_t>().value()) == three_mib());
        data.evict();
        CHECK(support::memory_of(data.read<std::uint8_t>().value()) == three_mib());
        if (file.is_mapped()) {
            CHECK(support::memory_of(data.view<std::uint8_t>().value()) == three_mib());
            data.evict();
            CHECK(support::memory_of(data.view<std::uint8_t>().value()) == three_mib());
        }
    }
}

TEST_CASE("what is read into much new memory is the same with one thread, with more, and with one that comes late") {
    const std::size_t count = (std::size_t{5} << 20) / 2 + 777; // 10 MiB of floats
    std::vector<ztensor::bfloat16> halves(count);
    for (std::size_t i = 0; i < count; ++i) {
        halves[i] = ztensor::bfloat16(static_cast<float>(i % 40009) * 0.25F);
    }
    std::vector<float> floats(halves.begin(), halves.end());
    const support::temp_dir directory;
    const std::string path = (directory.path() / "large.zt").string();
    {
        ztensor::writer out = ztensor::writer::create(path).value();
        out.add("half", {count}, halves).value();
        out.add("float", {count}, floats).value();
        out.finish().value();
    }
    support::late_executor late;
    support::prompt_executor prompt;
    for (ztensor::executor* const each : std::vector<ztensor::executor*>{nullptr, &late, &prompt}) {
        const support::used_executor used(each);
        for (const unsigned threads : {0U, 1U, 2U}) {
            for (const ztensor::io_mode mode : {ztensor::io_mode::automatic, ztensor::io_mode::positional}) {
                CAPTURE(each == &late, each == &prompt, threads, mode == ztensor::io_mode::positional);
                const reader file = reader::open(path, read_options().threads(threads).mode(mode)).value();
                CHECK((file.read<float>("float").value() == floats));
                CHECK((file.read_as<float>("half").value() == floats));
                const array<float> loaded = file.load<float>("float").value();
                CHECK(std::equal(loaded.begin(), loaded.end(), floats.begin(), floats.end()));
                const std::unique_ptr<float[]> mine(new float[count]);
                file.read_as_into("half", span<float>(mine.get(), count)).value();
                CHECK(std::equal(floats.begin(), floats.end(), mine.get()));
                CHECK((threads != 1 || late.tasks.empty()));
                late.run_all();
            }
        }
    }
}
