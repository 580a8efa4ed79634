// SPDX-License-Identifier: MIT
//
// Every public call that touches a file, by name, for programs that make all of them under odd circumstances. Each
// opens what it needs by itself and answers with a value or an error.
#ifndef ZTENSOR_TESTS_FAULTS_PROGRAMS_PUBLIC_CALLS_HPP
#define ZTENSOR_TESTS_FAULTS_PROGRAMS_PUBLIC_CALLS_HPP

#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/dlpack.hpp>
#include <ztensor/import.hpp>
#include <ztensor/json.hpp>
#include <ztensor/visit.hpp>
#include <ztensor/ztensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace public_calls {

using ztensor::reader;
using ztensor::result;

constexpr std::size_t small_count = 1000;                      ///< floats of "raw"
constexpr std::size_t large_count = std::size_t{4} << 20;      ///< floats of "packed", 16 MiB
constexpr std::size_t whole_count = std::size_t{1} << 20;      ///< floats of "whole", one frame of zstd
inline const char* const foreign = "tests/corpus/foreign/";    ///< seen from the top folder
inline const char* const sharded = "tests/corpus/v2/sharded/"; ///< likewise

/// What the calls work on, made beforehand.
struct environment {
    std::string folder;
    std::string v1;   ///< a file of version 1.2
    std::string v2;   ///< the same tensors in version 2
    std::string open; ///< a folder of files to be written

    ztensor::attributes about = std::move(ztensor::attributes().set("text", "some text").set("numbers", 7));
    ztensor::array<float> small = ztensor::array<float>(small_count);
    ztensor::array<float> large = ztensor::array<float>(large_count);
};

struct named_call {
    const char* name;
    result<void> (*run)(environment& in);
};

template <class T>
[[nodiscard]] result<void> done(result<T>&& answer) {
    return answer ? result<void>() : result<void>(std::move(answer).error());
}

/// The same of a view, which a host of the other byte order can't have.
template <class T>
[[nodiscard]] result<void> viewed(result<T>&& answer) {
    const bool is_of_other_order =
        !ztensor::detail::host_is_little_endian && !answer && answer.error().code() == ztensor::errc::needs_byteswap;
    return is_of_other_order ? result<void>() : done(std::move(answer));
}

/// Opens one of the two files, and calls `use(reader)`.
template <class Use>
[[nodiscard]] result<void> with(const std::string& path, const Use& use,
                                ztensor::io_mode mode = ztensor::io_mode::automatic) {
    const result<reader> file = reader::open(path, ztensor::read_options().mode(mode));
    return file ? use(*file) : result<void>(file.error());
}

template <class Use>
[[nodiscard]] result<void> with_object(const std::string& path, const char* name, const Use& use) {
    return with(path, [&](const reader& file) -> result<void> {
        const result<ztensor::object_view> object = file.find(name);
        return object ? use(*object) : result<void>(object.error());
    });
}

[[nodiscard]] inline ztensor::store sha256() {
    return ztensor::store().digest(ztensor::digest::sha256);
}

[[nodiscard]] inline result<void> add_all(ztensor::writer& out, const environment& in) {
    const ztensor::span<const float> whole(in.large.data(), whole_count);
    const float two[] = {5, 7};
    const std::uint64_t columns[] = {0, 2}, pointers[] = {0, 1, 2}, coords[] = {0, 1, 0, 2};
    const std::uint32_t words[] = {0x76543210};
    const float one[] = {1};
    const ztensor::store digested = sha256();
    const auto packed = ztensor::store(digested).zstd(1);
    return out.add_coo("coo", {2, 3}, two, coords)
        .and_then([&] {
            return out.add_csr("csr", {2, 3}, two, columns, pointers, digested);
        })
        .and_then([&] { return out.add("packed", {large_count}, in.large, packed); })
        .and_then([&] {
            return out.add_quantized("quantized", {1, 8}, {4, 8, "8_per_u32"}, words, one, one);
        })
        .and_then([&] { return out.add("raw", {small_count}, in.small, digested, in.about); })
        .and_then([&] { return out.add("whole", {whole_count}, whole, ztensor::store().zstd(1)); });
}

[[nodiscard]] inline result<void> write_file(const std::string& path, const environment& in,
                                             const ztensor::write_options& options) {
    result<ztensor::writer> out = ztensor::writer::create(path, options);
    return out ? add_all(*out, in).and_then([&] { return out->finish(); }) : result<void>(std::move(out).error());
}

[[nodiscard]] inline ztensor::write_options version_1() {
    return ztensor::write_options().sync(false);
}

[[nodiscard]] inline ztensor::write_options version_2() {
    return version_1().version(ztensor::format_version::v2);
}

/// A copy of the file of version 1.2 to be changed.
[[nodiscard]] inline result<void> copy_to(const std::string& path, environment& in) {
    return with(in.v1, [&](const reader& file) -> result<void> {
        result<ztensor::writer> out = ztensor::writer::create(path, version_1());
        if (!out) {
            return std::move(out).error();
        }
        return ztensor::copy(file, *out).and_then([&] { return out->finish(); });
    });
}

template <class Change>
[[nodiscard]] result<void> edit_copy(environment& in, const char* name, const ztensor::write_options& options,
                                     const Change& change) {
    const std::string path = in.open + name;
    if (result<void> copied = copy_to(path, in); !copied) {
        return copied;
    }
    result<ztensor::editor> edited = ztensor::edit(path, options);
    if (!edited) {
        return std::move(edited).error();
    }
    return change(*edited).and_then([&] { return edited->finish(); });
}

template <class Paths>
[[nodiscard]] result<void> read_every(const Paths& file) {
    const result<reader> opened = ztensor::open_any(foreign + std::string(file));
    if (!opened) {
        return opened.error();
    }
    for (const ztensor::object_view object : *opened) {
        for (const ztensor::component_view part : object) {
            if (result<std::vector<std::byte>> bytes = part.read<std::byte>(); !bytes) {
                return std::move(bytes).error();
            }
        }
    }
    return done(opened->verify(2));
}

// One function for each foreign file, since a call is a plain function.
#define ZTENSOR_TESTS_READ(file)                                                                                       \
    {                                                                                                                  \
        "open_any " file, [](environment&) { return read_every(file); }                                                \
    }

inline const named_call all[] = {
    {"open", [](environment& in) { return done(reader::open(in.v1)); }},
    {"open version 2", [](environment& in) { return done(reader::open(in.v2)); }},
    {"open strictly", [](environment& in) { return done(reader::open(in.v1, ztensor::read_options().strict())); }},
    {"open a sharded model", [](environment&) { return done(reader::open(sharded + std::string("model.zt"))); }},
    {"from bytes",
     [](environment&) -> result<void> {
         result<ztensor::writer> out = ztensor::writer::to_memory();
         if (!out) {
             return std::move(out).error();
         }
         return out->add("x", {2}, {1.0F, 2.0F}).and_then([&] { return out->finish(); }).and_then([&] {
             return done(reader::from_bytes(out->take_bytes()));
         });
     }},
    {"read", [](environment& in) { return with(in.v1, [](auto& f) { return done(f.template read<float>("raw")); }); }},
    {"read packed",
     [](environment& in) { return with(in.v1, [](auto& f) { return done(f.template read<float>("packed")); }); }},
    {"read packed by positional reads",
     [](environment& in) {
         return with(
             in.v1, [](auto& f) { return done(f.template read<float>("packed")); }, ztensor::io_mode::positional);
     }},
    {"read one frame",
     [](environment& in) { return with(in.v1, [](auto& f) { return done(f.template read<float>("whole")); }); }},
    {"read packed of version 2",
     [](environment& in) { return with(in.v2, [](auto& f) { return done(f.template read<float>("packed")); }); }},
    {"load", [](environment& in) { return with(in.v1, [](auto& f) { return done(f.template load<float>("raw")); }); }},
    {"load packed",
     [](environment& in) { return with(in.v1, [](auto& f) { return done(f.template load<float>("packed")); }); }},
    {"load one frame",
     [](environment& in) { return with(in.v1, [](auto& f) { return done(f.template load<float>("whole")); }); }},
    {"load packed of version 2",
     [](environment& in) { return with(in.v2, [](auto& f) { return done(f.template load<float>("packed")); }); }},
    {"read into",
     [](environment& in) { return with(in.v1, [&](auto& f) { return f.read_into("packed", in.large); }); }},
    {"read as doubles",
     [](environment& in) { return with(in.v1, [](auto& f) { return done(f.template read_as<double>("packed")); }); }},
    {"read as into",
     [](environment& in) { return with(in.v1, [&](auto& f) { return f.read_as_into("packed", in.large); }); }},
    {"read where the file is promised not to change",
     [](environment& in) -> result<void> {
         const result<reader> file = reader::open(in.v1, ztensor::read_options().stable_file());
         if (!file) {
             return file.error();
         }
         return done(file->read<float>("packed"))
             .and_then([&] { return file->read_into("raw", in.small); })
             .and_then([&] { return done(file->verify(2)); });
     }},
    {"view",
     [](environment& in) { return with(in.v1, [](auto& f) { return viewed(f.template view<float>("raw")); }); }},
    {"rows",
     [](environment& in) {
         return with(in.v1, [](auto& f) { return done(f["packed"].rows(100, 2000000).template read<float>()); });
     }},
    {"rows into",
     [](environment& in) {
         return with(in.v2, [&](auto& f) { return f["packed"].rows(7, 7 + small_count).read_into(in.small); });
     }},
    {"slice",
     [](environment& in) {
         return with(in.v1, [](auto& f) { return done(f["packed"].slice({{5, 3000000}}).template read<float>()); });
     }},
    {"slice into",
     [](environment& in) {
         return with(in.v2, [&](auto& f) { return f["packed"].slice({{0, small_count}}).read_into(in.small); });
     }},
    {"little-endian",
     [](environment& in) {
         return with_object(in.v1, "packed", [](auto& o) { return done(o["data"].read_little_endian()); });
     }},
    {"pieces",
     [](environment& in) {
         return with_object(in.v1, "packed", [](const ztensor::object_view& object) -> result<void> {
             result<ztensor::component_pieces> pieces =
                 ztensor::component_pieces::open_as(object["data"], ztensor::dtype::f16);
             if (!pieces) {
                 return std::move(pieces).error();
             }
             for (;;) {
                 result<ztensor::bytes_view> piece = pieces->next();
                 if (!piece || piece->empty()) {
                     return done(std::move(piece));
                 }
             }
         });
     }},
    {"plan",
     [](environment& in) {
         return with(in.v1, [&](const reader& file) {
             ztensor::load_plan plan(file);
             plan.add("raw", in.small).add_as("packed", in.large);
             return done(plan.run(ztensor::load_options().threads(2)));
         });
     }},
    {"read_all", [](environment& in) { return with(in.v1, [](auto& f) { return done(ztensor::read_all(f)); }); }},
    {"read_all of version 2",
     [](environment& in) {
         return with(in.v2, [](auto& f) { return done(ztensor::read_all(f, ztensor::load_options().threads(3))); });
     }},
    {"verify", [](environment& in) { return with(in.v1, [](auto& f) { return done(f.verify()); }); }},
    {"verify version 2", [](environment& in) { return with(in.v2, [](auto& f) { return done(f.verify(3)); }); }},
    {"csr from",
     [](environment& in) {
         return with_object(in.v1, "csr", [](auto& o) { return viewed(ztensor::csr_view<float>::from(o)); });
     }},
    {"rows of csr",
     [](environment& in) {
         return with_object(in.v1, "csr", [](auto& o) { return done(ztensor::csr_view<float>::from_rows(o, 0, 1)); });
     }},
    {"csr as coo and dense",
     [](environment& in) {
         return with_object(in.v1, "csr", [](auto& object) -> result<void> {
             const auto csr = ztensor::csr_view<float>::read(object);
             return csr ? done(csr->to_coo()).and_then([&] { return done(csr->to_dense()); })
                        : result<void>(csr.error());
         });
     }},
    {"coo as csr",
     [](environment& in) {
         return with_object(in.v2, "coo", [](auto& object) -> result<void> {
             const auto coo = ztensor::coo_view<float>::read(object);
             return coo ? done(coo->to_csr()) : result<void>(coo.error());
         });
     }},
    {"quantized",
     [](environment& in) {
         return with_object(in.v1, "quantized", [](auto& object) -> result<void> {
             const auto weights = ztensor::quantized_view::from(object);
             return weights ? done(weights->unpack()).and_then([&] { return done(weights->dequantize()); })
                            : result<void>(weights.error());
         });
     }},
    {"attributes as JSON",
     [](environment& in) {
         return with_object(in.v1, "raw", [](auto& o) { return done(ztensor::to_json(o.attributes())); });
     }},
    {"JSON as attributes",
     [](environment&) {
         return done(ztensor::to_attributes({{"a", {1, 2.5, "b"}}}));
     }},
    {"attributes",
     [](environment& in) {
         return with_object(in.v1, "raw", [](auto& o) {
             return done(o.attributes().text("text")).and_then([&] { return done(o.attributes().integer("numbers")); });
         });
     }},
    {"lint", [](environment& in) { return with(in.v1, [](auto& f) { return done(ztensor::lint(f)); }); }},
    {"content digest",
     [](environment& in) {
         return with(in.v2, [](const reader& file) -> result<void> {
             result<std::string> digest = ztensor::content_digest(file, ztensor::digest::sha256);
             return digest || digest.error().code() == ztensor::errc::not_expressible
                        ? result<void>()
                        : result<void>(std::move(digest).error());
         });
     }},
    {"visit",
     [](environment& in) {
         return with_object(in.v1, "raw", [](auto& object) {
             return viewed(ztensor::visit(object, [](auto elements) { return elements.size(); }));
         });
     }},
    {"DLPack",
     [](environment& in) {
         return with_object(in.v1, "packed", [](auto& o) { return done(ztensor::read_dlpack(o)); });
     }},
    {"write", [](environment& in) { return write_file(in.open + "written-1.zt", in, version_1()); }},
    {"write version 2", [](environment& in) { return write_file(in.open + "written-2.zt", in, version_2()); }},
    {"write shards",
     [](environment& in) {
         return write_file(in.open + "shards.zt", in, version_2().shard_bytes(std::uint64_t{4} << 20));
     }},
    {"write to memory",
     [](environment& in) -> result<void> {
         result<ztensor::writer> out = ztensor::writer::to_memory();
         return out ? add_all(*out, in).and_then([&] { return out->finish(); }) : result<void>(std::move(out).error());
     }},
    {"stream",
     [](environment& in) -> result<void> {
         result<ztensor::writer> out = ztensor::writer::create(in.open + "streamed.zt", version_1());
         if (!out) {
             return std::move(out).error();
         }
         result<ztensor::tensor_stream> stream = out->stream<float>("x", {2 * small_count});
         if (!stream) {
             return std::move(stream).error();
         }
         return stream->append(in.small)
             .and_then([&] { return stream->append(in.small); })
             .and_then([&] { return stream->finish(); })
             .and_then([&] { return out->finish(); });
     }},
    {"tie",
     [](environment& in) -> result<void> {
         result<ztensor::writer> out = ztensor::writer::create(in.open + "tied.zt", version_1());
         return out ? out->add("a", {small_count}, in.small)
                          .and_then([&] { return out->add_tied("b", "a"); })
                          .and_then([&] { return out->finish(); })
                    : result<void>(std::move(out).error());
     }},
    {"copy", [](environment& in) { return copy_to(in.open + "copied.zt", in); }},
    {"copy anew",
     [](environment& in) {
         return with(in.v1, [&](const reader& file) -> result<void> {
             result<ztensor::writer> out = ztensor::writer::create(in.open + "anew.zt", version_2());
             return out ? ztensor::copy(file, *out).and_then([&] { return out->finish(); })
                        : result<void>(std::move(out).error());
         });
     }},
    {"append",
     [](environment& in) -> result<void> {
         const std::string path = in.open + "appended.zt";
         if (result<void> copied = copy_to(path, in); !copied) {
             return copied;
         }
         result<ztensor::writer> out = ztensor::writer::append(path, version_1());
         return out ? out->add("new", {small_count}, in.small).and_then([&] { return out->finish(); })
                    : result<void>(std::move(out).error());
     }},
    {"edit",
     [](environment& in) {
         return edit_copy(in, "edited.zt", version_1(), [&](ztensor::editor& edited) {
             return edited.rename("raw", "new").and_then([&] { return edited.remove("whole"); });
         });
     }},
    {"edit attributes",
     [](environment& in) {
         return edit_copy(in, "told.zt", version_1(), [&](ztensor::editor& edited) {
             return edited.remove_attributes("raw").and_then([&] { return edited.attributes("whole", in.about); });
         });
     }},
    {"ask for an undo record", [](environment& in) { return done(ztensor::has_undo_record(in.v1)); }},
    {"edit in place and recover",
     [](environment& in) {
         const auto options = version_1().publish(ztensor::publish_mode::in_place);
         return edit_copy(
                    in, "in-place.zt", options,
                    [&](ztensor::editor& edited) { return edited.replace("raw", {small_count}, in.small, sha256()); })
             .and_then([&] { return done(ztensor::recover(in.open + "in-place.zt")); });
     }},
    {"sweep", [](environment& in) { return done(ztensor::remove_abandoned(in.folder)); }},
    {"export safetensors",
     [](environment& in) {
         return with(in.v1, [&](auto& f) {
             return ztensor::export_safetensors(
                 f, in.open + "x.safetensors",
                 ztensor::export_options()
                     .select([](auto& o) { return o.format() == ztensor::format::dense; })
                     .attributes(false));
         });
     }},
    {"export npz",
     [](environment& in) {
         return with(in.v1, [&](auto& f) {
             return ztensor::export_npz(f, in.open + "x.npz",
                                        ztensor::export_options()
                                            .select([](auto& o) { return o.format() == ztensor::format::dense; })
                                            .attributes(false));
         });
     }},
    {"export npy",
     [](environment& in) {
         return with_object(in.v1, "raw", [&](auto& o) { return ztensor::export_npy(o, in.open + "x.npy"); });
     }},
    {"set of readers",
     [](environment& in) -> result<void> {
         const result<ztensor::reader> set = ztensor::open_any(in.v1);
         return set ? done(set->find("raw")) : result<void>(set.error());
     }},
    ZTENSOR_TESTS_READ("npy/f64_fortran.npy"),
    ZTENSOR_TESTS_READ("npz/compressed.npz"),
    ZTENSOR_TESTS_READ("npz/zip64.npz"),
    ZTENSOR_TESTS_READ("gguf/kinds.gguf"),
    ZTENSOR_TESTS_READ("gguf/codebooks.gguf"),
    ZTENSOR_TESTS_READ("safetensors/every_dtype.safetensors"),
    ZTENSOR_TESTS_READ("pt/checkpoint.pt"),
    ZTENSOR_TESTS_READ("pt/deflated.pt"),
    ZTENSOR_TESTS_READ("pt/legacy.pt"),
    ZTENSOR_TESTS_READ("pt/tar.pt"),
    ZTENSOR_TESTS_READ("pt/script.pt"),
    ZTENSOR_TESTS_READ("onnx/typed.onnx"),
    ZTENSOR_TESTS_READ("onnx/external.onnx"),
};

#undef ZTENSOR_TESTS_READ

/// The files, whose paths alone are set.
[[nodiscard]] inline environment in_folder(const std::string& folder) {
    environment made;
    made.folder = folder;
    made.v1 = folder + "/v1.zt";
    made.v2 = folder + "/v2.zt";
    made.open = folder + "/open-";
    std::fill(made.small.begin(), made.small.end(), 0.0F);
    std::fill(made.large.begin(), made.large.end(), 0.0F);
    return made;
}

[[nodiscard]] inline result<void> write_files(const environment& in) {
    return write_file(in.v1, in, version_1()).and_then([&] { return write_file(in.v2, in, version_2()); });
}

} // namespace public_calls

#endif
