// SPDX-License-Identifier: MIT
//
// Memory that runs out, at every allocation in turn: the error says so, and no file is changed.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/golden.hpp"
#include "support/temp_dir.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <vector>

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED) // whose runtime ends the program instead

namespace {

using support::allocations_before_failure;
using support::byte_vector;
using support::bytes;
using support::golden;
using support::golden_path;
using support::temp_dir;
using ztensor::bytes_view;
using ztensor::errc;
using ztensor::reader;
using ztensor::result;
using ztensor::version;

/// Runs `work() → result<void>` again and again, and lets one allocation fail each time, until none is left to fail.
/// `check(outcome)` looks at what came of each run.
template <class Work, class Check>
void fail_every_allocation(Work&& work, Check&& check) {
    for (std::size_t failing = 1;; ++failing) {
        allocations_before_failure = failing;
        const result<void> done = work();
        const bool was_reached = allocations_before_failure.exchange(0) == 0;
        CAPTURE(failing);
        if (!was_reached) {
            REQUIRE(done.has_value());
            REQUIRE(failing > 10); // allocations did fail
            return;
        }
        if (!done) { // a failure that the work could do without is none
            REQUIRE(done.error().code() == errc::out_of_memory);
        }
        check(done);
    }
}

const std::vector<float> six_floats = {1, 2, 3, 4, 5, 6};

const std::vector<bool> three_bools = {true, false, true};

const std::vector<std::uint64_t> sparse_columns = {0, 2};

const std::vector<std::uint64_t> sparse_pointers = {0, 1, 2};

/// One of everything.
result<void> write_everything(result<ztensor::writer> created) {
    if (!created) {
        return created.error();
    }
    ztensor::writer& out = *created;
    const ztensor::span<const float> two = ztensor::span<const float>(six_floats).first(2);
    return out.add("raw", {2, 3}, six_floats)
        .and_then(
            [&] { return out.add("zstd", {6}, six_floats, ztensor::store().zstd().digest(ztensor::digest::sha256)); })
        .and_then([&] { return out.add("bools", {3}, three_bools); })
        .and_then([&] {
            return out.add_csr("a sparse matrix by rows", {2, 3}, two, sparse_columns, sparse_pointers);
        })
        .and_then([&] { return out.add_coo("a sparse tensor by coordinates", {3}, two, sparse_columns); })
        .and_then([&] { return out.stream("in pieces", {6}, ztensor::dtype::f32, ztensor::store().zstd()); })
        .and_then([&](ztensor::tensor_stream stream) {
            return stream.append(six_floats).and_then([&] { return stream.finish(); });
        })
        .and_then([&] { return out.finish(); });
}

} // namespace

TEST_CASE(
    "a writer that runs out of memory at any point says so, and leaves the target as it was and nothing beside it") {
    const temp_dir directory;
    const std::filesystem::path target = directory / "target.zt";
    const bytes old = "what was there before";
    support::write_file(target, old);
    const auto check = [&](const result<void>& done) {
        REQUIRE((support::read_file(target) == old) == !done.has_value());
        REQUIRE(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
        support::write_file(target, old);
    };
    fail_every_allocation([&] { return write_everything(ztensor::writer::create(target)); }, check);
}

TEST_CASE(
    "a copy that runs out of memory at any point says so, and leaves the target as it was and nothing beside it") {
    const temp_dir directory;
    const std::filesystem::path target = directory / "target.zt";
    const bytes old = "what was there before";
    support::write_file(target, old);
    const byte_vector content = golden("s0.1-sparse-one-blob.zt");
    const reader from = reader::from_bytes(bytes_view(content)).value();
    const auto check = [&](const result<void>& done) {
        REQUIRE((support::read_file(target) == old) == !done.has_value());
        REQUIRE(std::distance(std::filesystem::directory_iterator(directory.path()), {}) == 1);
        support::write_file(target, old);
    };
    const auto copy_all = [&]() -> result<void> {
        result<ztensor::writer> out = ztensor::writer::create(target);
        if (!out) {
            return out.error();
        }
        return ztensor::copy(from, *out).and_then([&] { return out->finish(); });
    };
    fail_every_allocation(copy_all, check);
}

TEST_CASE("a writer that runs out of memory while another thread writes leaves the whole file, or none") {
    const temp_dir directory;
    const std::filesystem::path target = directory / "target.zt";
    const std::vector<std::uint8_t> content(100000, std::uint8_t{7});
    constexpr int count = 70;
    const auto write_all = [&]() -> result<void> {
        result<ztensor::writer> out = ztensor::writer::create(target, ztensor::write_options().sync(false));
        result<void> done = out ? result<void>() : out.error();
        for (int i = 0; done && i < count; ++i) {
            done = out->add(std::to_string(i), {content.size()}, content);
        }
        return done ? out->finish() : std::move(done);
    };
    fail_every_allocation(write_all, [&](const result<void>& done) {
        REQUIRE(std::filesystem::exists(target) == done.has_value());
        if (done) {
            const reader written = reader::open(target).value();
            REQUIRE(written.size() == count);
            REQUIRE(written.read<std::uint8_t>("66").value() == content);
            std::filesystem::remove(target);
        }
    });
}

TEST_CASE("what is refused for want of something else is refused for want of memory where that runs out") {
    const byte_vector content = golden("v1.2-dense.zt");
    const reader file = reader::from_bytes(bytes_view(content)).value();
    const ztensor::object_view object = *file.begin();
    const ztensor::component_view data = *object.begin();
    const auto refuse_everything = [&]() -> result<void> {
        const auto ran_out = [](const auto& answer) { return !answer && answer.error().code() == errc::out_of_memory; };
        if (ran_out(file.find("no such name")) || ran_out(object.component("no such role")) ||
            ran_out(data.check<std::complex<float>>()) || ran_out(data.view<std::complex<float>>()) ||
            ran_out(data.read_stored_into({}, std::uint64_t{1} << 60)) ||
            ran_out(object.rows(5, std::uint64_t{1} << 60).read<float>())) {
            return ztensor::error(errc::out_of_memory, "");
        }
        return {};
    };
    fail_every_allocation(refuse_everything, [](const result<void>&) {});
}

TEST_CASE("a reader that runs out of memory at any point says so") {
    const auto check = [](const result<void>&) {};
    for (const char* const name : {"v1.2-zstd.zt", "v1.1-sparse-csr.zt", "v0.1-sparse-csr.zt", "s1.2-cbor-forms.zt"}) {
        CAPTURE(name);
        const std::filesystem::path path = golden_path(name);
        const auto read_all = [&]() -> result<void> {
            const result<reader> file = reader::open(path);
            if (!file) {
                return file.error();
            }
            for (const ztensor::object_view object : *file) {
                result<void> done = file->find(object.name()).and_then([](const auto&) { return result<void>(); });
                for (const ztensor::component_view component : object) {
                    done = done.and_then([&] { return component.read<std::byte>(); }).and_then([](const auto&) {
                        return result<void>();
                    });
                    done = done.and_then([&] { return component.verify(); }).and_then([](const auto&) {
                        return result<void>();
                    });
                }
                if (object.format().text() == "sparse_csr") {
                    done = done.and_then([&] { return ztensor::csr_view<std::byte>::from(object); })
                               .and_then([](const auto&) { return result<void>(); });
                }
                if (object.format().text() == "sparse_csr" && file->version() == version::v0_1) {
                    done = done.and_then([&] { return ztensor::csr_view<float>::from(object); })
                               .and_then([](const auto& csr) { return csr.to_coo(); })
                               .and_then([](const auto& coo) { return coo.to_csr(); })
                               .and_then([](const auto& csr) { return csr.to_dense(); })
                               .and_then([](const auto&) { return result<void>(); });
                }
                if (!done) {
                    return done;
                }
            }
            return {};
        };
        fail_every_allocation(read_all, check);
    }
}

#else

TEST_CASE("memory does not run out under a sanitizer") {
    WARN("skipped: the sanitizer's runtime ends the program where memory runs out");
}

#endif
