// SPDX-License-Identifier: MIT
//
// What each rank does in the tests of mpi.hpp: mpi_ranks COMMAND FOLDER. A rank that finds something wrong says what,
// and ends all. Calls of MPI are counted by its profiling interface: the library's calls come here first.
#include <ztensor/import.hpp>
#include <ztensor/mpi.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using namespace ztensor;

namespace {

int rank_here = 0;
int ranks = 1;
MPI_Comm world = MPI_COMM_NULL;

[[noreturn]] void fail_all(int line, const std::string& what) {
    std::fprintf(stderr, "rank %d of %d, line %d: %s\n", rank_here, ranks, line, what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 9);
    std::abort();
}
#define REQUIRE(...) (static_cast<bool>(__VA_ARGS__) ? void() : fail_all(__LINE__, #__VA_ARGS__))
#define REQUIRE_VALUE(...) require_value(__VA_ARGS__, __LINE__)

template <class T>
T require_value(result<T> got, int line) {
    if (!got) {
        fail_all(line, got.error().what());
    }
    return *std::move(got);
}
void require_value(const result<void>& got, int line) {
    if (!got) {
        fail_all(line, got.error().what());
    }
}

/// Adds a line to this rank's own file, which the test reads: lines of several ranks may run into each other on stdout.
void say(const std::string& line) {
    const char* const folder = std::getenv("ZTENSOR_TEST_SAYS");
    REQUIRE(folder != nullptr);
    std::ofstream out(std::string(folder) + "/" + std::to_string(rank_here), std::ios::app);
    out << line << "\n" << std::flush;
    REQUIRE(out.good());
}
void tell_error(const error& why) {
    say(std::string(name(why.code())) + ": " + why.what());
}

// -- counted calls

struct counters {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0; ///< that this rank gave or took, once each
};
counters counted;

void count(int number, MPI_Datatype type) {
    int size = 0;
    PMPI_Type_size(type, &size);
    counted.calls += 1;
    counted.bytes += static_cast<std::uint64_t>(number) * static_cast<std::uint64_t>(size);
    REQUIRE(static_cast<std::uint64_t>(number) * static_cast<std::uint64_t>(size) <= std::uint64_t{1} << 30);
}

/// How often this process reads from a source, and how much.
class counted_source final : public byte_source {
public:
    explicit counted_source(const std::string& path) : file_(std::fopen(path.c_str(), "rb")) {
        REQUIRE(file_ != nullptr);
        std::fseek(file_, 0, SEEK_END);
        size_ = static_cast<std::uint64_t>(std::ftell(file_));
    }
    ~counted_source() override { std::fclose(file_); }

    [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
    result<void> read_at(std::uint64_t offset, span<std::byte> destination) const override {
        const ::ssize_t got =
            ::pread(::fileno(file_), destination.data(), destination.size(), static_cast<::off_t>(offset));
        reads += 1;
        bytes += destination.size();
        return got == static_cast<::ssize_t>(destination.size())
                   ? result<void>()
                   : result<void>(unexpected(errc::file_changed, "the file has become shorter"));
    }

    mutable std::atomic<std::uint64_t> reads{0};
    mutable std::atomic<std::uint64_t> bytes{0};

private:
    std::FILE* file_;
    std::uint64_t size_ = 0;
};

// -- the model

void save_rows(const std::string& folder);

write_options fast() {
    return write_options().sync(false);
}

std::vector<float> rising(std::size_t count) {
    std::vector<float> numbers(count);
    std::iota(numbers.begin(), numbers.end(), 1.0f);
    return numbers;
}

const shape weight_shape = {600, 500};
const shape cube_shape = {40, 30, 50};

void write_model(const std::string& path, const write_options& options) {
    ztensor::writer out = REQUIRE_VALUE(ztensor::writer::create(path, write_options(options).sync(false)));
    REQUIRE_VALUE(out.add("bias", {7}, rising(7)));
    REQUIRE_VALUE(out.add("checked", weight_shape, rising(600 * 500), store().digest(digest::sha256)));
    REQUIRE_VALUE(out.add("cube", cube_shape, rising(40 * 30 * 50), store().zstd()));
    REQUIRE_VALUE(out.add("empty", {0, 3}, rising(0)));
    REQUIRE_VALUE(out.add("flags", {3}, std::vector<bool>{true, false, true}));
    REQUIRE_VALUE(out.add("scalar", {}, rising(1)));
    REQUIRE_VALUE(out.add("weight", weight_shape, rising(600 * 500)));
    REQUIRE_VALUE(out.finish());
}

/// All tensors at once, by one way.
mpi::load_report load_all(const reader& model, mpi::how way) {
    std::vector<float> bias(7), checked(600 * 500), cube(40 * 30 * 50), empty, scalar(1), weight(600 * 500);
    bool flags[3] = {};
    load_plan plan(model);
    plan.add("weight", weight).add("bias", bias).add("cube", cube).add("checked", checked).add("empty", empty);
    plan.add("scalar", scalar).add("flags", flags);
    plan.add_optional("absent", expected_shape::anything(), bias);
    const mpi::load_report report = REQUIRE_VALUE(mpi::load(world, plan, way));
    REQUIRE(bias == rising(7));
    REQUIRE(checked == rising(600 * 500));
    REQUIRE(cube == rising(40 * 30 * 50));
    REQUIRE(scalar == rising(1));
    REQUIRE(weight == rising(600 * 500));
    REQUIRE(flags[0] && !flags[1] && flags[2]);
    return report;
}

/// Each rank's part of two tensors, cut along one dimension.
mpi::load_report load_parts(const reader& model, std::size_t dimension, mpi::how way) {
    const mpi::part of_weight = mpi::slice_of(weight_shape, rank_here, ranks, dimension);
    const mpi::part of_cube = mpi::slice_of(cube_shape, rank_here, ranks, dimension + 1);
    std::vector<float> weight(*of_weight.shape().element_count()), cube(*of_cube.shape().element_count());
    std::vector<double> numbers(weight.size());
    load_plan plan(model);
    plan.add(model["weight"].slice(of_weight), weight).add(model["cube"].slice(of_cube), cube);
    plan.add_as(model["checked"].slice(of_weight), numbers);
    const mpi::load_report report = REQUIRE_VALUE(mpi::load(world, plan, way));
    std::size_t at = 0;
    for (std::uint64_t i = of_weight.ranges()[0].begin; i < of_weight.ranges()[0].end; ++i) {
        for (std::uint64_t j = of_weight.ranges()[1].begin; j < of_weight.ranges()[1].end; ++j, ++at) {
            REQUIRE(weight[at] == static_cast<float>(i * 500 + j + 1));
            REQUIRE(numbers[at] == static_cast<double>(i * 500 + j + 1));
        }
    }
    at = 0;
    for (std::uint64_t i = of_cube.ranges()[0].begin; i < of_cube.ranges()[0].end; ++i) {
        for (std::uint64_t j = of_cube.ranges()[1].begin; j < of_cube.ranges()[1].end; ++j) {
            for (std::uint64_t k = of_cube.ranges()[2].begin; k < of_cube.ranges()[2].end; ++k, ++at) {
                REQUIRE(cube[at] == static_cast<float>((i * 30 + j) * 50 + k + 1));
            }
        }
    }
    return report;
}

/// Bytes of everything that load_all() wants. Between small tensors others may be read with them.
std::uint64_t stored_bytes(const reader& model) {
    std::uint64_t all = 0;
    for (const object_view object : model) {
        all += object.name() != "another" ? object[std::size_t{0}].stored_bytes() : 0;
    }
    return all;
}

void load_every_way(const reader& model) {
    const std::uint64_t once = stored_bytes(model);
    for (const mpi::how way : {mpi::how::striped, mpi::how::collective, mpi::how::automatic, mpi::how::independent}) {
        const mpi::load_report report = load_all(model, way);
        const bool is_shared = report.used != mpi::how::independent;
        const auto times = static_cast<std::uint64_t>(is_shared ? 1 : ranks); // in all, or by each rank
        REQUIRE(report.bytes_read_in_all >= once * times && report.bytes_read_in_all <= (once + 65536) * times);
        REQUIRE(way == mpi::how::automatic || report.used == way);
    }
    for (const std::size_t dimension : {std::size_t{0}, std::size_t{1}}) {
        for (const mpi::how way : {mpi::how::independent, mpi::how::collective, mpi::how::automatic}) {
            load_parts(model, dimension, way);
        }
    }
}

// -- commands

/// What the guide's program loads.
void write_guide(const std::string& folder) {
    ztensor::writer out = REQUIRE_VALUE(ztensor::writer::create(folder + "/model.zt", fast()));
    REQUIRE_VALUE(out.add("bias", {4096}, rising(4096)));
    REQUIRE_VALUE(out.add("up.weight", {4096, 1024}, rising(4096 * 1024)));
    REQUIRE_VALUE(out.finish());
}

void write(const std::string& folder) {
    if (rank_here == 0) {
        write_model(folder + "/v1.zt", write_options());
    }
}

void load(const std::string& folder) {
    if (rank_here == 0) {
        write_model(folder + "/v1.zt", write_options());
        write_model(folder + "/v2.zt", write_options().version(format_version::v2));
        write_model(folder + "/sharded.zt", write_options().version(format_version::v2).shard_bytes(1 << 20));
        const reader model = REQUIRE_VALUE(reader::open(folder + "/v1.zt"));
        REQUIRE_VALUE(export_safetensors(model, folder + "/m.safetensors"));
        REQUIRE_VALUE(export_npz(model, folder + "/m.npz"));
        std::filesystem::create_directory(folder + "/set");
        ztensor::writer other =
            REQUIRE_VALUE(ztensor::writer::create(folder + "/set/a.zt", write_options().sync(false)));
        REQUIRE_VALUE(other.add("another", {5}, rising(5)));
        REQUIRE_VALUE(other.finish());
        REQUIRE_VALUE(export_safetensors(model, folder + "/set/b.safetensors"));
    }
    MPI_Barrier(world);
    for (const char* const file : {"/v1.zt", "/v2.zt", "/sharded.zt", "/m.safetensors", "/m.npz", "/set"}) {
        load_every_way(REQUIRE_VALUE(mpi::open(world, folder + file)));
    }
    const auto source = std::make_shared<counted_source>(folder + "/v1.zt");
    load_every_way(REQUIRE_VALUE(mpi::open(world, source, "v1.zt")));
    load_every_way(REQUIRE_VALUE(mpi::open(world, std::make_shared<counted_source>(folder + "/m.npz"), "m.npz")));
}

// -- frames

const shape large_shape = {1500, 1000};

/// Numbers that zstd takes to a half of their size or so.
std::vector<float> half_random() {
    std::vector<float> numbers(1500 * 1000);
    std::uint32_t state = 1;
    for (float& each : numbers) {
        state = state * 1664525 + 1013904223;
        each = static_cast<float>(state >> 20);
    }
    return numbers;
}

/// Numbers from 1 to 2 whose fractions are noise.
std::vector<float> noise() {
    std::vector<float> numbers(1500 * 1000);
    std::uint32_t state = 1;
    for (float& each : numbers) {
        state = state * 1664525 + 1013904223;
        each = 1 + static_cast<float>((state ^ state >> 15) & 0x7fffff) / 0x800000;
    }
    return numbers;
}

/// A tensor in planes is two blobs, which one rank reads.
void planes(const std::string& folder) {
    const std::string path = folder + "/planes.zt";
    const std::vector<float> expected = noise();
    if (rank_here == 0) {
        ztensor::writer out = REQUIRE_VALUE(ztensor::writer::create(path, fast()));
        REQUIRE_VALUE(out.add("w", large_shape, expected, store().planes().digest(digest::crc32c)));
        REQUIRE_VALUE(out.finish());
    }
    MPI_Barrier(world);
    const auto source = std::make_shared<counted_source>(path);
    const reader model = REQUIRE_VALUE(mpi::open(world, source, "planes.zt"));
    REQUIRE(model["w"].is_in_planes());
    std::vector<float> numbers(expected.size());
    load_plan plan(model);
    plan.add("w", numbers);
    for (const mpi::how way : {mpi::how::striped, mpi::how::independent, mpi::how::collective, mpi::how::automatic}) {
        std::fill(numbers.begin(), numbers.end(), 0.0F);
        const mpi::load_report report = REQUIRE_VALUE(mpi::load(world, plan, way));
        REQUIRE(numbers == expected);
        REQUIRE(way != mpi::how::striped ||
                report.bytes_read_in_all == REQUIRE_VALUE(model["w"].data()).stored_bytes());
    }
    const mpi::shared_tensors shared = REQUIRE_VALUE(mpi::shared_load(world, model, {"w"}));
    const span<const float> view = REQUIRE_VALUE(shared.view<float>("w"));
    REQUIRE(std::equal(view.begin(), view.end(), expected.begin(), expected.end()));
}

/// Large tensors of zstd frames, or with a digest: each is decoded by all ranks, unless its digest can't be combined.
void frames(const std::string& folder) {
    const std::string path = folder + "/frames.zt";
    const std::vector<float> expected = half_random();
    if (rank_here == 0) {
        ztensor::writer out = REQUIRE_VALUE(ztensor::writer::create(path, fast()));
        REQUIRE_VALUE(out.add("checked", large_shape, expected, store().zstd().digest(digest::crc32c)));
        REQUIRE_VALUE(out.add("hashed", large_shape, expected, store().zstd().digest(digest::sha256)));
        REQUIRE_VALUE(out.add("raw", large_shape, expected, store().digest(digest::crc32c)));
        REQUIRE_VALUE(out.add("plain", large_shape, expected, store().zstd().digest(digest::none)));
        REQUIRE_VALUE(out.finish());
    }
    MPI_Barrier(world);
    const auto source = std::make_shared<counted_source>(path);
    const reader model = REQUIRE_VALUE(mpi::open(world, source, "frames.zt"));
    const auto size = static_cast<std::uint64_t>(ranks);
    for (const char* const name : {"checked", "plain", "hashed", "raw"}) {
        const std::uint64_t stored = REQUIRE_VALUE(model[name].data()).stored_bytes();
        std::vector<float> numbers(expected.size());
        load_plan plan(model);
        plan.add(name, numbers);
        source->bytes = 0;
        const mpi::load_report report = REQUIRE_VALUE(mpi::load(world, plan, mpi::how::striped));
        REQUIRE(numbers == expected);
        REQUIRE(report.bytes_read_in_all == stored && source->bytes == report.bytes_read); // each byte once
        REQUIRE(std::string_view(name) == "hashed" || report.bytes_read <= stored / size + 65536);

        std::vector<double> wider(expected.size());
        load_plan converted(model);
        converted.add_as(name, wider);
        REQUIRE(REQUIRE_VALUE(mpi::load(world, converted, mpi::how::striped)).bytes_read_in_all == stored);
        REQUIRE(std::equal(wider.begin(), wider.end(), expected.begin()));
        // Parts are held in memory, which may be bounded on a rank.
        const load_options bounded = load_options().max_staging_bytes(rank_here == 0 ? 8 << 20 : ~std::uint64_t{0});
        REQUIRE_VALUE(mpi::load(world, plan, mpi::how::striped, bounded));
        REQUIRE(numbers == expected);
    }
    const mpi::shared_tensors shared = REQUIRE_VALUE(mpi::shared_load(world, model, {"checked", "plain", "raw"}));
    for (const char* const name : {"checked", "plain", "raw"}) {
        const span<const float> numbers = REQUIRE_VALUE(shared.view<float>(name));
        REQUIRE(std::equal(numbers.begin(), numbers.end(), expected.begin(), expected.end()));
    }
    // Damage, which the digest of the blob finds on all ranks, and without it the decoder of one: heads of blocks are
    // gone.
    MPI_Barrier(world);
    if (rank_here == 0) {
        for (const char* const name : {"checked", "plain", "raw"}) {
            const component_view data = REQUIRE_VALUE(model[name].data());
            std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(static_cast<std::streamoff>(data.offset() + data.stored_bytes() / 2));
            const std::string damage(300000, '\0');
            file.write(damage.data(), static_cast<std::streamsize>(damage.size()));
        }
    }
    MPI_Barrier(world);
    for (const char* const name : {"checked", "raw", "plain"}) {
        std::vector<float> numbers(expected.size());
        load_plan plan(model);
        plan.add(name, numbers);
        const result<mpi::load_report> loaded = mpi::load(world, plan, mpi::how::striped);
        REQUIRE(!loaded);
        tell_error(loaded.error());
    }
}

/// The law of many ranks: metadata is read by one, in as many calls whatever the number of ranks, and each byte of a
/// striped load is read by one and sent once to each other.
void law(const std::string& folder) {
    write(folder);
    MPI_Barrier(world);
    const auto source = std::make_shared<counted_source>(folder + "/v1.zt");
    counted = {};
    const reader model = REQUIRE_VALUE(mpi::open(world, source, "v1.zt"));
    REQUIRE(rank_here == 0 ? source->reads <= 4 : source->reads == 0); // ends and index
    REQUIRE(counted.calls == 4);
    REQUIRE(counted.bytes < model.manifest_bytes() + 8192);

    std::vector<float> weight(600 * 500), bias(7);
    load_plan plan(model);
    plan.add("weight", weight).add("bias", bias);
    source->bytes = 0;
    counted = {};
    const mpi::load_report report = REQUIRE_VALUE(mpi::load(world, plan, mpi::how::striped));
    const std::uint64_t all = (weight.size() + bias.size()) * sizeof(float);
    const std::uint64_t row = 500 * sizeof(float);
    const auto size = static_cast<std::uint64_t>(ranks);
    REQUIRE(report.bytes_read_in_all == all);
    REQUIRE(report.bytes_read <= all / size + row && source->bytes == report.bytes_read);
    REQUIRE(counted.calls <= 5 + 2 * size);               // one or two broadcasts of each owner
    REQUIRE(counted.bytes <= (ranks > 1 ? all : 0) + 64); // what each rank sends and gets
    const counters striped = counted;

    const mpi::part mine = mpi::slice_of(weight_shape, rank_here, ranks, 1);
    std::vector<float> columns(*mine.shape().element_count());
    load_plan parts(model);
    parts.add(model["weight"].slice(mine), columns);
    counted = {};
    const mpi::load_report exchanged = REQUIRE_VALUE(mpi::load(world, parts, mpi::how::collective));
    REQUIRE(exchanged.bytes_read_in_all == weight.size() * sizeof(float));
    REQUIRE(exchanged.bytes_read <= exchanged.bytes_read_in_all / size + row);
    const counters collective = counted;
    REQUIRE(collective.calls == 12); // whatever the number of ranks, and two more for each further 16 MiB of a rank

    counted = {};
    save_rows(folder);
    REQUIRE(counted.calls == 15);
    {
        mpi::writer out = REQUIRE_VALUE(mpi::writer::create(world, folder + "/columns.zt"));
        REQUIRE_VALUE(out.define<float>("columns", weight_shape));
        REQUIRE_VALUE(out.plan());
        counted = {};
        REQUIRE_VALUE(out.collective_put("columns", mine, columns));
        REQUIRE(counted.calls == 4); // and two more for each further 16 MiB of a rank
        REQUIRE(counted.bytes <= columns.size() * sizeof(float) + 256);
    }
    MPI_Barrier(world);
    if (rank_here == 0) {
        std::printf("%d ranks: open 4 calls, striped %llu calls and %llu bytes, collective %llu calls, saving 15\n",
                    ranks, static_cast<unsigned long long>(striped.calls),
                    static_cast<unsigned long long>(striped.bytes), static_cast<unsigned long long>(collective.calls));
    }
}

/// Each rank has a folder of its own, in which the test has put a file, or something else.
void open_own(const std::string& folder) {
    std::filesystem::current_path(folder + "/" + std::to_string(rank_here));
    const result<reader> opened = mpi::open(world, "model.zt");
    REQUIRE(!opened);
    tell_error(opened.error());
}

/// The file of the last rank is cut when all have opened theirs.
void load_cut(const std::string& folder) {
    const std::string path = folder + "/" + std::to_string(rank_here) + "/model.zt";
    for (const mpi::how way : {mpi::how::independent, mpi::how::striped, mpi::how::collective}) {
        if (rank_here == ranks - 1) {
            write_model(path, write_options());
        }
        const reader model = REQUIRE_VALUE(mpi::open(world, std::make_shared<counted_source>(path), "model.zt"));
        MPI_Barrier(world);
        if (rank_here == ranks - 1) {
            std::filesystem::resize_file(path, 100);
        }
        std::vector<float> weight(600 * 500);
        bool flags[3] = {true, true, true};
        load_plan plan(model);
        plan.add("weight", weight).add("flags", flags);
        const result<mpi::load_report> loaded = mpi::load(world, plan, way);
        REQUIRE(!loaded);
        REQUIRE(!flags[0] && !flags[1] && !flags[2]);
        tell_error(loaded.error());
    }
}

/// What callers do wrong, each on one rank or all.
void refuse(const std::string& folder) {
    write(folder);
    MPI_Barrier(world);
    const reader model = REQUIRE_VALUE(mpi::open(world, folder + "/v1.zt"));
    REQUIRE(mpi::open(MPI_COMM_NULL, "x").error().code() == errc::invalid_argument);
    REQUIRE(mpi::open(world, folder + "/none.zt").error().code() == errc::file_not_found);
    REQUIRE(
        mpi::open(world, rank_here == ranks - 1 ? nullptr : std::make_shared<counted_source>(folder + "/v1.zt"), "x")
            .error()
            .code() == errc::invalid_argument);
    std::vector<float> bias(7), one(1);
    {
        load_plan plan(model);
        plan.add(rank_here == ranks - 1 ? "absent" : "bias", bias);
        const result<mpi::load_report> loaded = mpi::load(world, plan);
        REQUIRE(loaded.error().code() == errc::object_not_found);
        tell_error(loaded.error());
    }
    if (ranks > 1) {
        load_plan plan(model);
        rank_here == 0 ? plan.add("bias", bias) : plan.add("scalar", one);
        REQUIRE(mpi::load(world, plan, mpi::how::striped).error().code() == errc::invalid_argument);
        REQUIRE_VALUE(mpi::load(world, plan));
    }
    std::vector<float> apart(600 * 501);
    load_plan plan(model);
    plan.add("weight", into(apart.data(), 501 * sizeof(float)));
    REQUIRE(mpi::load(world, plan, mpi::how::collective).error().code() == errc::invalid_argument);
    REQUIRE_VALUE(mpi::load(world, plan, mpi::how::striped));
    REQUIRE(apart[501] == 501.0f && apart[501 * 599 + 499] == 300000.0f);
    // Such a plan is not shared, whatever the source suggests, unless all ranks have the same.
    const auto source = std::make_shared<counted_source>(folder + "/v1.zt");
    const reader not_mapped = REQUIRE_VALUE(mpi::open(world, source, "v1.zt"));
    load_plan mixed(not_mapped);
    mixed.add("weight", into(apart.data(), 501 * sizeof(float)));
    const mpi::how shared = ranks > 1 ? mpi::how::striped : mpi::how::independent;
    REQUIRE(REQUIRE_VALUE(mpi::load(world, mixed)).used == shared);
    mixed.add(rank_here == 0 ? "bias" : "scalar", rank_here == 0 ? span<float>(bias) : span<float>(one));
    REQUIRE(REQUIRE_VALUE(mpi::load(world, mixed)).used == (ranks > 1 ? mpi::how::independent : shared));
    const mpi::part none = mpi::slice_of(weight_shape, 0, 1, 2);
    REQUIRE(none.shape() == shape({0, 0}));
    const mpi::part second = mpi::slice_of({5}, 1, 3, 0);
    REQUIRE(second.ranges()[0].begin == 2 && second.ranges()[0].end == 4);
    REQUIRE(mpi::slice_of({2}, 2, 3, 0).shape() == shape({0}));
}

// -- shared memory

/// How many hosts there are, or what MPI takes for such.
std::uint64_t count_hosts() {
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    int rank_on_host = 0;
    MPI_Comm_rank(host, &rank_on_host);
    MPI_Comm_free(&host);
    std::uint64_t hosts = rank_on_host == 0 ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &hosts, 1, MPI_UINT64_T, MPI_SUM, world);
    return hosts;
}

void share(const std::string& folder) {
    write(folder);
    MPI_Barrier(world);
    const auto source = std::make_shared<counted_source>(folder + "/v1.zt");
    const reader model = REQUIRE_VALUE(mpi::open(world, source, "v1.zt"));
    source->bytes = 0;
    {
        const mpi::shared_tensors shared =
            REQUIRE_VALUE(mpi::shared_load(world, model, {"weight", "cube", "empty", "flags", "checked"}));
        REQUIRE(shared.size() == 5 && shared.name(1) == "cube" && shared.bytes(0).size() == 600 * 500 * 4);
        const std::vector<float> expected = rising(600 * 500);
        for (const char* const name : {"weight", "checked"}) {
            const span<const float> weight = REQUIRE_VALUE(shared.view<float>(name));
            REQUIRE(weight.size() == expected.size() && std::equal(weight.begin(), weight.end(), expected.begin()));
        }
        const span<const float> cube = REQUIRE_VALUE(shared.view<float>("cube"));
        REQUIRE(cube.size() == 40 * 30 * 50 && cube[59999] == 60000.0f);
        const span<const bool> flags = REQUIRE_VALUE(shared.view<bool>("flags"));
        REQUIRE(flags.size() == 3 && flags[0] && !flags[1] && flags[2]);
        REQUIRE(shared.view<float>("empty").value().empty());
        REQUIRE(shared.view<double>("weight").error().code() == errc::type_mismatch);
        REQUIRE(shared.view<float>("bias").error().code() == errc::object_not_found);
        std::uint64_t read[2] = {shared.bytes_read(), 0};
        MPI_Allreduce(read, read + 1, 1, MPI_UINT64_T, MPI_SUM, world);
        const std::uint64_t once = stored_bytes(model) - 7 * 4 - 4;
        const std::uint64_t hosts = count_hosts();
        REQUIRE(read[1] >= once * hosts && read[1] < (once + 65536) * hosts); // each host has one copy
        if (rank_here == 0) {
            say("hosts: " + std::to_string(hosts));
        }
        // On several hosts it pays to read each byte once, and to send it.
        REQUIRE(load_all(REQUIRE_VALUE(mpi::open(world, folder + "/v1.zt")), mpi::how::automatic).used ==
                (hosts > 1 && ranks >= 4 ? mpi::how::striped : mpi::how::independent));
    }
    REQUIRE(mpi::shared_load(world, model, {"weight", "none"}).error().code() == errc::object_not_found);
    if (ranks > 1) {
        const result<mpi::shared_tensors> others =
            rank_here == 0 ? mpi::shared_load(world, model, {"weight"}) : mpi::shared_load(world, model, {"bias"});
        REQUIRE(others.error().code() == errc::invalid_argument);
    }
}

// -- saving

/// This rank's part of a tensor of rising numbers.
std::vector<float> rising_part(const shape& dimensions, const mpi::part& part) {
    std::vector<float> numbers;
    for (std::uint64_t i = part.ranges()[0].begin; i < part.ranges()[0].end; ++i) {
        for (std::uint64_t j = part.ranges()[1].begin; j < part.ranges()[1].end; ++j) {
            numbers.push_back(static_cast<float>(i * dimensions[1] + j + 1));
        }
    }
    return numbers;
}

void define_all(mpi::writer& out, const store& how) {
    REQUIRE_VALUE(out.define<float>("columns", weight_shape, how, attributes().set("cut", "columns")));
    REQUIRE_VALUE(out.define<float>("empty", {0, 3}, how));
    REQUIRE_VALUE(out.define<float>("rows", weight_shape, how));
    REQUIRE_VALUE(out.define<bfloat16>("whole", {3}));
}

void put_all(mpi::writer& out) {
    const mpi::part rows = mpi::slice_of(weight_shape, rank_here, ranks, 0);
    const mpi::part columns = mpi::slice_of(weight_shape, rank_here, ranks, 1);
    REQUIRE_VALUE(out.put("rows", rows, rising_part(weight_shape, rows)));
    REQUIRE_VALUE(out.put("columns", columns, rising_part(weight_shape, columns)));
    if (rank_here == ranks - 1) {
        REQUIRE_VALUE(out.put("whole", std::vector<bfloat16>{bfloat16(1.0f), bfloat16(2.0f), bfloat16(3.0f)}));
    }
}

/// The same by all ranks at once; the last one alone has all of one tensor.
void put_all_together(mpi::writer& out) {
    for (const std::size_t dimension : {std::size_t{0}, std::size_t{1}}) {
        const mpi::part part = mpi::slice_of(weight_shape, rank_here, ranks, dimension);
        REQUIRE_VALUE(out.collective_put(dimension == 0 ? "rows" : "columns", part, rising_part(weight_shape, part)));
    }
    REQUIRE_VALUE(out.collective_put("empty", {{0, 0}, {0, 3}}, std::vector<float>()));
    const bool has_all = rank_here == ranks - 1;
    const std::vector<bfloat16> all = {bfloat16(1.0f), bfloat16(2.0f), bfloat16(3.0f)};
    REQUIRE_VALUE(out.collective_put("whole", {{0, has_all ? 3u : 0u}}, has_all ? all : std::vector<bfloat16>()));
}

void check_saved(const std::string& path) {
    const reader saved = REQUIRE_VALUE(reader::open(path, read_options().strict()));
    REQUIRE(saved.size() == 4);
    REQUIRE(saved.read<float>("rows").value() == rising(600 * 500));
    REQUIRE(saved.read<float>("columns").value() == rising(600 * 500));
    REQUIRE(saved.read<bfloat16>("whole").value().size() == 3);
    REQUIRE(saved["columns"].attributes().contains("cut"));
    REQUIRE(REQUIRE_VALUE(saved.verify()).ok());
}

/// One file by all ranks is byte for byte the one that a single writer makes.
void save_together(const std::string& folder) {
    for (const format_version version : {format_version::v1_2, format_version::v1_1, format_version::v2}) {
        for (const bool is_together : {false, true}) {
            const bool all_define = is_together;
            const bool is_2 = version == format_version::v2;
            const store how = is_2 ? store() : store().digest(digest::crc32c);
            const std::string path = folder + "/saved.zt";
            mpi::writer out = REQUIRE_VALUE(mpi::writer::create(world, path, fast().version(version)));
            if (all_define || rank_here == 0) {
                REQUIRE_VALUE(out.attributes(attributes().set("step", 7)));
                define_all(out, how);
            }
            REQUIRE_VALUE(out.plan());
            if (is_together) {
                put_all_together(out);
            } else if (!is_2) {
                put_all(out);
            } else if (rank_here == 0) {
                REQUIRE_VALUE(out.put("rows", rising(600 * 500)));
                REQUIRE_VALUE(out.put("whole", std::vector<bfloat16>{bfloat16(1.0f), bfloat16(2.0f), bfloat16(3.0f)}));
            }
            if (is_2 && !is_together && rank_here == ranks - 1) {
                REQUIRE_VALUE(out.put("columns", rising(600 * 500)));
            }
            REQUIRE_VALUE(out.finish());
            REQUIRE(out.finish().error().code() == errc::writer_closed);
            if (rank_here == 0) {
                check_saved(path);
                REQUIRE(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
            }
            MPI_Barrier(world);
            if (rank_here == 0 && !is_2) {
                ztensor::writer alone = REQUIRE_VALUE(ztensor::writer::to_memory(write_options().version(version)));
                REQUIRE_VALUE(alone.attributes(attributes().set("step", 7)));
                REQUIRE_VALUE(
                    alone.add("columns", weight_shape, rising(600 * 500), how, attributes().set("cut", "columns")));
                REQUIRE_VALUE(alone.add("empty", {0, 3}, rising(0), how));
                REQUIRE_VALUE(alone.add("rows", weight_shape, rising(600 * 500), how));
                REQUIRE_VALUE(
                    alone.add("whole", {3}, std::vector<bfloat16>{bfloat16(1.0f), bfloat16(2.0f), bfloat16(3.0f)}));
                REQUIRE_VALUE(alone.finish());
                const std::vector<std::byte> expected = alone.take_bytes();
                std::vector<std::byte> found(std::filesystem::file_size(path));
                REQUIRE_VALUE(counted_source(path).read_at(0, found));
                REQUIRE(found == expected);
            }
        }
    }
}

/// Parts of a cube, and a scalar: what many dimensions and none come to.
void save_cube(const std::string& folder) {
    const std::string path = folder + "/cube.zt";
    for (const std::size_t dimension : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
        mpi::writer out = REQUIRE_VALUE(mpi::writer::create(world, path, fast()));
        REQUIRE_VALUE(out.define<float>("cube", cube_shape, store().digest(digest::sha256)));
        REQUIRE_VALUE(out.define<double>("scalar", {}));
        REQUIRE_VALUE(out.plan());
        const mpi::part part = mpi::slice_of(cube_shape, rank_here, ranks, dimension);
        std::vector<float> mine;
        for (std::uint64_t i = part.ranges()[0].begin; i < part.ranges()[0].end; ++i) {
            for (std::uint64_t j = part.ranges()[1].begin; j < part.ranges()[1].end; ++j) {
                for (std::uint64_t k = part.ranges()[2].begin; k < part.ranges()[2].end; ++k) {
                    mine.push_back(static_cast<float>((i * 30 + j) * 50 + k + 1));
                }
            }
        }
        REQUIRE_VALUE(out.collective_put("cube", part, mine));
        if (rank_here == ranks - 1) {
            REQUIRE_VALUE(out.put("scalar", std::vector<double>{4}));
        }
        REQUIRE_VALUE(out.finish());
        if (rank_here == 0) {
            const reader saved = REQUIRE_VALUE(reader::open(path, read_options().strict()));
            REQUIRE(saved.read<float>("cube").value() == rising(40 * 30 * 50));
            REQUIRE(saved.read<double>("scalar").value()[0] == 4);
        }
        MPI_Barrier(world);
    }
    if (rank_here == 0) {
        std::filesystem::remove(path);
    }
}

/// A checkpoint for load_saved() and others.
void save_rows(const std::string& folder) {
    mpi::writer out = REQUIRE_VALUE(mpi::writer::create(world, folder + "/saved.zt"));
    define_all(out, store());
    REQUIRE_VALUE(out.plan());
    put_all(out);
    REQUIRE_VALUE(out.finish());
}

/// A checkpoint of as many ranks is loaded by these, cut along another dimension.
void load_saved(const std::string& folder) {
    const auto source = std::make_shared<counted_source>(folder + "/saved.zt");
    const reader saved = REQUIRE_VALUE(mpi::open(world, source, "saved.zt"));
    for (const char* const name : {"rows", "columns"}) {
        for (const std::size_t dimension : {std::size_t{0}, std::size_t{1}}) {
            const mpi::part part = mpi::slice_of(weight_shape, rank_here, ranks, dimension);
            std::vector<float> mine(*part.shape().element_count());
            load_plan plan(saved);
            plan.add(saved[name].slice(part), mine);
            source->bytes = 0;
            const mpi::load_report report = REQUIRE_VALUE(mpi::load(world, plan, mpi::how::collective));
            REQUIRE(mine == rising_part(weight_shape, part));
            REQUIRE(report.bytes_read_in_all == 600 * 500 * 4); // each byte once in all
            REQUIRE(source->bytes == report.bytes_read);
        }
    }
}

void refuse_saving(const std::string& folder) {
    const std::string path = folder + "/refused.zt";
    const auto start = [&](const write_options& options = fast()) {
        return REQUIRE_VALUE(mpi::writer::create(world, path, options));
    };
    REQUIRE(mpi::writer::create(world, folder + "/none/x.zt").error().code() == errc::io_error);
    REQUIRE(mpi::writer::create(world, path, fast().publish(publish_mode::in_place)).error().code() ==
            errc::invalid_argument);
    REQUIRE(mpi::writer::create(world, path, fast().version(format_version::v2).shard_bytes(100)).error().code() ==
            errc::invalid_argument);
    {
        mpi::writer out = start();
        REQUIRE_VALUE(out.define<float>("z", {2}, store().zstd()));
        REQUIRE_VALUE(out.define<float>("a", {2}));
        REQUIRE_VALUE(out.define<float>("a", {2}));
        const result<void> planned = out.plan();
        REQUIRE(planned.error().code() == errc::not_expressible);
        tell_error(planned.error());
        REQUIRE(out.plan().error().code() == errc::writer_closed);
    }
    if (ranks > 1) {
        mpi::writer out = start();
        REQUIRE_VALUE(out.define<float>("a", {rank_here == 1 ? 3 : 2}));
        const result<void> planned = out.plan();
        REQUIRE(planned.error().code() == errc::invalid_argument);
        tell_error(planned.error());
    }
    { // what one rank does wrong in a collective put all others are told, and it can be put right
        mpi::writer out = start();
        REQUIRE_VALUE(out.define<float>("a", {4, 2}));
        REQUIRE_VALUE(out.define<float>("b", {4, 2}));
        REQUIRE_VALUE(out.plan());
        const mpi::part part = mpi::slice_of({4, 2}, rank_here, ranks, 0);
        const std::vector<float> mine = rising_part({4, 2}, part);
        const bool is_last = rank_here == ranks - 1;
        REQUIRE(out.collective_put("a", part, is_last ? rising(1) : mine).error().code() == errc::size_mismatch);
        REQUIRE(out.collective_put(is_last ? "none" : "a", part, mine).error().code() == errc::object_not_found);
        const result<void> half = is_last ? out.collective_put("a", {{0, 0}, {0, 2}}, std::vector<float>())
                                          : out.collective_put("a", part, mine);
        REQUIRE(half.error().code() == errc::size_mismatch);
        if (ranks > 1) {
            REQUIRE(out.collective_put(is_last ? "b" : "a", part, mine).error().code() == errc::invalid_argument);
            REQUIRE(out.collective_put("a", {{0, 4}, {0, 2}}, rising(8)).error().code() == errc::blob_overlap);
        }
        REQUIRE_VALUE(out.collective_put("a", part, mine));
        REQUIRE_VALUE(out.collective_put("b", part, mine));
        REQUIRE_VALUE(out.finish());
        if (rank_here == 0) {
            REQUIRE(REQUIRE_VALUE(reader::open(path)).read<float>("b").value() == rising(8));
            std::filesystem::remove(path);
        }
        MPI_Barrier(world);
    }
    {
        mpi::writer out = start();
        REQUIRE(out.put("a", rising(2)).error().code() == errc::writer_closed);
        REQUIRE_VALUE(out.define<float>("a", {4, 2}));
        REQUIRE_VALUE(out.define<float>("hashed", {4}, store().digest(digest::sha256)));
        REQUIRE_VALUE(out.plan());
        REQUIRE(out.define<float>("b", {1}).error().code() == errc::writer_closed);
        REQUIRE(out.put("b", rising(2)).error().code() == errc::object_not_found);
        REQUIRE(out.put("a", rising(2)).error().code() == errc::size_mismatch);
        REQUIRE(out.put("a", {{0, 1}}, rising(2)).error().code() == errc::invalid_argument);
        REQUIRE(out.put("a", {{0, 5}, {0, 2}}, rising(10)).error().code() == errc::out_of_bounds);
        REQUIRE(out.put("a", std::vector<double>(8)).error().code() == errc::type_mismatch);
        const result<void> hashed = out.put("hashed", {{0, 2}}, rising(2));
        REQUIRE(hashed.error().code() == errc::invalid_argument && hashed.error().object() == "hashed");
        // Two rows by everyone, and of the other tensor nothing.
        REQUIRE_VALUE(out.put("a", {{1, 3}, {0, 2}}, rising(4)));
        const result<void> finished = out.finish();
        REQUIRE(finished.error().code() == (ranks > 1 ? errc::blob_overlap : errc::size_mismatch));
        tell_error(finished.error());
    }
    MPI_Barrier(world);
    REQUIRE(std::filesystem::is_empty(folder)); // no target, and no temporary file
    MPI_Barrier(world);
}

/// The last rank can't write more than a little: its disk is full, as it were.
void save_full(const std::string& folder, bool is_collective) {
    const std::string path = folder + "/saved.zt";
    if (rank_here == ranks - 1) {
        std::signal(SIGXFSZ, SIG_IGN);
        const ::rlimit little = {1000000, RLIM_INFINITY};
        REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
    }
    mpi::writer out = REQUIRE_VALUE(mpi::writer::create(world, path));
    define_all(out, store().digest(digest::crc32c));
    REQUIRE_VALUE(out.plan());
    const mpi::part rows = mpi::slice_of(weight_shape, rank_here, ranks, 0);
    const std::vector<float> mine = rising_part(weight_shape, rows);
    const result<void> put = is_collective ? out.collective_put("rows", rows, mine) : out.put("rows", rows, mine);
    REQUIRE(put.has_value() == (rank_here != ranks - 1));
    const result<void> finished = out.finish();
    tell_error(finished.error());
}
void save_full_alone(const std::string& folder) {
    save_full(folder, false);
}
void save_full_together(const std::string& folder) {
    save_full(folder, true);
}

/// The last rank dies before anybody finishes.
void save_killed(const std::string& folder) {
    mpi::writer out = REQUIRE_VALUE(mpi::writer::create(world, folder + "/saved.zt"));
    define_all(out, store());
    REQUIRE_VALUE(out.plan());
    put_all(out);
    MPI_Barrier(world);
    if (rank_here == ranks - 1) {
        std::raise(SIGKILL);
    }
    static_cast<void>(out.finish());
}

const std::map<std::string_view, void (*)(const std::string&)> commands = {
    {"write", write},
    {"write_guide", write_guide},
    {"load", load},
    {"law", law},
    {"frames", frames},
    {"planes", planes},
    {"open_own", open_own},
    {"load_cut", load_cut},
    {"refuse", refuse},
    {"share", share},
    {"save", save_together},
    {"save_rows", save_rows},
    {"load_saved", load_saved},
    {"refuse_saving", refuse_saving},
    {"save_cube", save_cube},
    {"save_full_alone", save_full_alone},
    {"save_full_together", save_full_together},
    {"save_killed", save_killed},
};

} // namespace

// -- profiling interface

extern "C" {
int MPI_Bcast(void* buffer, int number, MPI_Datatype type, int root, MPI_Comm comm) {
    count(number, type);
    return PMPI_Bcast(buffer, number, type, root, comm);
}
int MPI_Ibcast(void* buffer, int number, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    count(number, type);
    return PMPI_Ibcast(buffer, number, type, root, comm, request);
}
int MPI_Allgather(const void* from, int number, MPI_Datatype type, void* to, int each, MPI_Datatype as, MPI_Comm comm) {
    count(number, type);
    return PMPI_Allgather(from, number, type, to, each, as, comm);
}
int MPI_Allgatherv(const void* from, int number, MPI_Datatype type, void* to, const int* each, const int* places,
                   MPI_Datatype as, MPI_Comm comm) {
    count(number, type);
    return PMPI_Allgatherv(from, number, type, to, each, places, as, comm);
}
int MPI_Gatherv(const void* from, int number, MPI_Datatype type, void* to, const int* each, const int* places,
                MPI_Datatype as, int root, MPI_Comm comm) {
    count(number, type);
    return PMPI_Gatherv(from, number, type, to, each, places, as, root, comm);
}
int MPI_Alltoallw(const void* from, const int* sent, const int* from_places, const MPI_Datatype* sent_types, void* to,
                  const int* got, const int* to_places, const MPI_Datatype* got_types, MPI_Comm comm) {
    for (int i = 0; i < ranks; ++i) {
        counted.calls -= 1; // all of them are one
        count(sent[i], sent_types[i]);
    }
    counted.calls += 1;
    return PMPI_Alltoallw(from, sent, from_places, sent_types, to, got, to_places, got_types, comm);
}
int MPI_Allreduce(const void* from, void* to, int number, MPI_Datatype type, MPI_Op how, MPI_Comm comm) {
    count(number, type);
    return PMPI_Allreduce(from, to, number, type, how, comm);
}
}

int main(int argument_count, char** arguments) {
    int provided = 0;
    MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_FUNNELED, &provided);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank_here);
    MPI_Comm_size(world, &ranks);
    const auto command = commands.find(argument_count > 2 ? arguments[1] : "");
    REQUIRE(command != commands.end());
    command->second(arguments[2]);
    MPI_Barrier(world);
    MPI_Finalize();
}
