// SPDX-License-Identifier: MIT
//
// Files of every format, generation and layout, and all that can be done with one: wherever a read fails or
// memory runs out, the call that met it says so, and any other says what it says elsewhere.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/counted_memory.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/watched_source.hpp"

#include <ztensor/copy.hpp>
#include <ztensor/import.hpp>
#include <ztensor/io.hpp>
#include <ztensor/lint.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/quantized.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/sparse.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace every_file {

using support::done;
using ztensor::component_view;
using ztensor::errc;
using ztensor::format_version;
using ztensor::object_view;
using ztensor::reader;
using ztensor::result;

const ztensor::read_options by_one_thread = ztensor::read_options().threads(1).mode(ztensor::io_mode::positional);

/// The first of them that fails for a reason of its own; what a file does not have is no failure.
class first_fault {
public:
    void take(const result<void>& answer) {
        if (!answer && is_fault(answer.error().code()) && all_) {
            all_ = answer.error();
        }
    }
    [[nodiscard]] const result<void>& all() const { return all_; }

private:
    static bool is_fault(errc code) { return code == errc::io_error || code == errc::out_of_memory; }

    result<void> all_;
};

template <class Work>
result<void> with_each_component(const reader& file, const Work& work) {
    first_fault faults;
    for (const object_view object : file) {
        for (const component_view component : object) {
            faults.take(work(component));
        }
    }
    return faults.all();
}
template <class Work>
result<void> with_each_object(const reader& file, const Work& work) {
    first_fault faults;
    for (const object_view object : file) {
        faults.take(work(object));
    }
    return faults.all();
}

template <class T>
result<void> read_sparse(const object_view& object) {
    first_fault faults;
    if (object.format() == ztensor::format::sparse_csr) {
        faults.take(done(ztensor::csr_view<T>::read(object)));
        faults.take(done(ztensor::csr_view<T, std::uint32_t>::read(object)));
        faults.take(done(ztensor::csr_view<T>::from_rows(object, 0, 1)));
        faults.take(ztensor::csr_view<T>::from(object).and_then([](const auto& rows) { return done(rows.to_coo()); }));
    } else if (object.format() == ztensor::format::sparse_coo) {
        faults.take(done(ztensor::coo_view<T>::read(object)));
        faults.take(done(ztensor::coo_view<T, std::int32_t>::read(object)));
        faults.take(ztensor::coo_view<T>::from(object).and_then([](const auto& all) { return done(all.to_csr()); }));
    }
    return faults.all();
}

result<void> read_weights(const object_view& object) {
    first_fault faults;
    const result<ztensor::quantized_view> weights = ztensor::quantized_view::from(object);
    faults.take(done(weights));
    if (weights) {
        faults.take(done(weights->unpack()));
        faults.take(done(weights->dequantize()));
    }
    return faults.all();
}

/// Lets go of all it gets.
class empty_sink final : public ztensor::byte_sink {
public:
    result<void> write(ztensor::bytes_view) override { return {}; }
    result<void> finish() override { return {}; }
};

result<void> copied(const reader& from, format_version version) {
    const std::size_t failing = support::allocations_before_failure.exchange(0);
    auto sink = std::make_unique<empty_sink>();
    support::allocations_before_failure = failing;
    const auto options = ztensor::write_options().version(version).threads(1).any_order();
    result<ztensor::writer> to = ztensor::writer::to_sink(std::move(sink), options);
    return to ? ztensor::copy(from, *to, ztensor::copy_options().reencode()).and_then([&] { return to->finish(); })
              : done(to);
}

/// Where exports go, made before anything fails.
struct targets {
    explicit targets(const support::temp_dir& folder)
        : safetensors(folder / "x.safetensors"), npz(folder / "x.npz"), npy(folder / "x.npy") {}

    std::filesystem::path safetensors, npz, npy;
};

struct named_work {
    const char* what;
    result<void> (*run)(const reader& file, const targets& to);
};

const ztensor::export_options without_sync = ztensor::export_options().sync(ztensor::sync_level::none);

const named_work all_works[] = {
    {"read bytes",
     [](const reader& file, const targets&) {
         return with_each_component(file, [](const component_view& each) { return done(each.read<std::byte>()); });
     }},
    {"read as numbers",
     [](const reader& file, const targets&) {
         return with_each_object(file, [](const object_view& each) { return done(each.read_as<float>()); });
     }},
    {"view",
     [](const reader& file, const targets&) {
         return with_each_component(file, [](const component_view& each) { return done(each.view<std::byte>()); });
     }},
    {"view packed",
     [](const reader& file, const targets&) {
         return with_each_component(file,
                                    [](const component_view& each) { return done(ztensor::packed_view::from(each)); });
     }},
    {"read a part",
     [](const reader& file, const targets&) {
         return with_each_object(file, [](const object_view& each) { return done(each.rows(0, 1).read<float>()); });
     }},
    {"read sparse floats",
     [](const reader& file, const targets&) { return with_each_object(file, read_sparse<float>); }},
    {"read sparse numbers",
     [](const reader& file, const targets&) { return with_each_object(file, read_sparse<std::uint64_t>); }},
    {"read weights", [](const reader& file, const targets&) { return with_each_object(file, read_weights); }},
    {"verify", [](const reader& file, const targets&) { return done(file.verify()); }},
    {"verify each",
     [](const reader& file, const targets&) {
         return with_each_component(file, [](const component_view& each) { return done(each.verify()); });
     }},
    {"read all", [](const reader& file,
                    const targets&) { return done(ztensor::read_all(file, ztensor::load_options().threads(1))); }},
    {"digest", [](const reader& file, const targets&) { return done(ztensor::content_digest(file)); }},
    {"lint", [](const reader& file, const targets&) { return done(ztensor::lint(file)); }},
    {"copy to 0.1", [](const reader& file, const targets&) { return copied(file, format_version::v0_1); }},
    {"copy to 1.2", [](const reader& file, const targets&) { return copied(file, format_version::v1_2); }},
    {"copy to 2", [](const reader& file, const targets&) { return copied(file, format_version::v2); }},
    {"export safetensors",
     [](const reader& file, const targets& to) {
         return ztensor::export_safetensors(file, to.safetensors, without_sync);
     }},
    {"export npz",
     [](const reader& file, const targets& to) { return ztensor::export_npz(file, to.npz, without_sync); }},
    {"export npy",
     [](const reader& file, const targets& to) {
         return file.size() == 0 ? result<void>() : ztensor::export_npy(*file.begin(), to.npy, without_sync);
     }},
};

/// One of each kind: formats, generations, layouts, encodings, and files beside one another.
const char* const all_files[] = {
    "foreign/gguf/kinds.gguf",
    "foreign/gguf/big_endian.gguf",
    "foreign/npy/f64_fortran.npy",
    "foreign/npy/i32_big_endian.npy",
    "foreign/npz/zip64.npz",
    "foreign/npz/compressed.npz",
    "foreign/onnx/typed.onnx",
    "foreign/onnx/sparse.onnx",
    "foreign/onnx/graphs.onnx",
    "foreign/onnx/external.onnx",
    "foreign/pt/checkpoint.pt",
    "foreign/npz/streamed.npz",
    "foreign/pt/deflated.pt",
    "foreign/safetensors/every_dtype.safetensors",
    "golden/s0.1-sparse-one-blob.zt",
    "golden/v0.1-big-endian.zt",
    "golden/v0.1-sparse-csr.zt",
    "golden/v1.0-dense.zt",
    "golden/v1.1-digests.zt",
    "golden/v1.2-logical-types.zt",
    "golden/v1.2-quantized-group.zt",
    "golden/v1.2-sparse-csr.zt",
    "golden/v1.2-zstd.zt",
    "v2/sharded/model.zt",
    "v2/valid/gguf-gguf.zt",
    "v2/valid/group-packed-zeros.zt",
    "v2/valid/group-exponents.zt",
    "v2/valid/mx-mx.zt",
    "v2/valid/sparse-csr-of-f4.zt",
    "v2/valid/sparse-coo.zt",
    "v2/valid/type-15-f4.zt",
    "v2/valid/type-bool.zt",
    "v2/valid/zstd-seekable-zstd.zt",
};

std::vector<std::filesystem::path> all_paths() {
    std::vector<std::filesystem::path> found;
    for (const char* const each : all_files) {
        found.push_back(std::filesystem::path("tests/corpus") / each);
    }
    return found;
}

} // namespace every_file

} // namespace

TEST_CASE("wherever a read of any file fails, the call that made it says so") {
    using namespace every_file;
    const support::temp_dir folder;
    const targets to(folder);
    std::size_t failed = 0;
    for (const std::filesystem::path& path : all_paths()) {
        CAPTURE(path.string());
        const auto source = std::make_shared<support::watched_source>(support::read_file(path));
        const auto open = [&] { return ztensor::open_any(source, path, by_one_thread); };
        for (std::size_t failing = 0;; ++failing) {
            source->first_failing_read = source->reads.size() + failing;
            const result<reader> opened = open();
            if (source->reads.size() <= source->first_failing_read) {
                REQUIRE(opened);
                break;
            }
            REQUIRE(support::refusal(opened) == errc::io_error);
            ++failed;
        }
        for (const named_work& work : all_works) {
            CAPTURE(work.what);
            for (std::size_t failing = 0;; ++failing) {
                source->first_failing_read = support::watched_source::never;
                const reader opened = open().value();
                source->first_failing_read = source->reads.size() + failing;
                const result<void> answer = work.run(opened, to);
                if (source->reads.size() <= source->first_failing_read) {
                    break;
                }
                REQUIRE(support::refusal(answer) == errc::io_error);
                ++failed;
            }
        }
    }
    CHECK(failed > 1500);
}

#if !defined(ZTENSOR_TESTS_ARE_SANITIZED) && ZTENSOR_HAS_EXCEPTIONS // without either a program ends instead

TEST_CASE("wherever memory runs out for any file, the call that asked for it says so or does without") {
    using namespace every_file;
    const support::temp_dir folder;
    const targets to(folder);
    std::size_t failed = 0;
    const auto runs_out = [&](std::size_t failing, const auto& work) {
        support::allocations_before_failure = failing;
        const result<void> answer = work();
        support::allocations_before_failure = 0;
        if (support::failed_allocations.exchange(0) == 0) {
            return false;
        }
        if (!answer && answer.error().code() != errc::out_of_memory) { // what it says with memory, too
            CHECK(support::outcome(work()) == support::outcome(answer));
        }
        failed += answer ? 0 : 1;
        return true;
    };
    for (const std::filesystem::path& path : all_paths()) {
        CAPTURE(path.string());
        const auto open = [&] { return ztensor::open_any(path, by_one_thread); };
        for (std::size_t failing = 1; runs_out(failing, [&] { return done(open()); }); ++failing) {
        }
        const reader opened = open().value();
        for (const named_work& work : all_works) {
            CAPTURE(work.what);
            for (std::size_t failing = 1; runs_out(failing, [&] { return work.run(opened, to); });
                 failing += 1 + failing / 64) { // where many are alike, not each
                REQUIRE(failing < 10000);
            }
        }
    }
    CHECK(failed > 1000);
}

#else

TEST_CASE("memory does not run out under a sanitizer for any file") {
    WARN("skipped: the sanitizer's runtime ends the program where memory runs out");
}

#endif
