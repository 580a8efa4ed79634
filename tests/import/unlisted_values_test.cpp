// SPDX-License-Identifier: MIT
//
// Values of a checkpoint that newer versions of PyTorch, and packages beside it, rebuild in ways that are not known:
// the rest opens, they are listed with the reason, and the tensors that they are made of are given.
#include "import/pickled_files.hpp"
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/watched_source.hpp"

#include <ztensor/import.hpp>
#include <ztensor/reader.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace unlisted_values {

using namespace support::pickled;
using support::bytes;
using support::refusal;
using ztensor::errc;
using ztensor::reader;

ztensor::result<reader> opened(const bytes& content, const bytes& name = "x.pt") {
    return ztensor::open_any(std::make_shared<support::watched_source>(content), name);
}

/// A checkpoint of that value beside the tensor "plain", of two f32, with storages of 24 bytes.
reader beside(const bytes& value) {
    const auto file = opened(checkpoint(dictionary({{"odd", value}, {"plain", tensor("FloatStorage", "0", 6)}}),
                                        {bytes(24, '\1'), bytes(24, '\2'), bytes(24, '\3')}));
    REQUIRE(support::outcome(file) == "ok");
    CHECK(file->read<float>("plain").value().size() == 6);
    return *file;
}

/// Why "odd" was skipped; "" if it was not.
std::string why_odd(const reader& file) {
    for (const ztensor::skipped_item& each : file.skipped()) {
        if (each.name == "odd") {
            return each.why;
        }
    }
    return "";
}
bool says(const std::string& sentence, std::string_view words) {
    return sentence.find(words) != std::string::npos;
}

/// An instance of a class that is not known, with that state.
bytes instance(const bytes& module, const bytes& name, const items& state) {
    return global(module, name) + ")\x81" + dictionary(state) + "b";
}

/// A tensor of a class of its own, which has no elements but those of tensors in its state.
bytes subclass(const bytes& module, const bytes& name, const bytes& state,
               const std::vector<std::uint64_t>& shape = {2, 3}) {
    const bytes type = global(module, name);
    return call(global("torch._tensor", "_rebuild_from_type_v2"),
                {global("torch._utils", "_rebuild_wrapper_subclass"), type,
                 tuple({type, global("torch", "float32"), sizes(shape), sizes({3, 1}), number(0), "N", "N", "\x89"}),
                 state});
}

bytes matrix(const bytes& key) {
    return strided(storage("FloatStorage", key, 6), {2, 3}, {3, 1});
}

/// As torch.distributed has it, with one placement of each of these classes.
bytes distributed(const std::vector<bytes>& placements, const std::vector<std::uint64_t>& shape = {2, 3}) {
    std::vector<bytes> all;
    for (const bytes& each : placements) {
        all.push_back(instance("torch.distributed.tensor.placement_types", each, {{"dim", number(0)}}));
    }
    const bytes spec = instance("torch.distributed.tensor._dtensor_spec", "DTensorSpec",
                                {{"mesh", instance("torch.distributed.device_mesh", "DeviceMesh", {})},
                                 {"placements", tuple(all)}});
    return subclass("torch.distributed.tensor", "DTensor",
                    tuple({"N", dictionary({{"_local_tensor", matrix("1")}, {"_spec", spec}})}), shape);
}

} // namespace unlisted_values

} // namespace

TEST_CASE("a distributed tensor that one process has all of is that tensor, and else its part of it") {
    using namespace unlisted_values;
    const std::vector<std::vector<bytes>> whole = {{"Shard"}, {"Replicate"}, {"Replicate", "Shard"}, {}};
    for (const std::vector<bytes>& placements : whole) {
        const reader file = beside(distributed(placements));
        CHECK(file.contains("odd"));
        CHECK(support::memory_of(file.read<float>("odd").value()) ==
              support::between_file_and_host(bytes(24, '\2'), 4));
        CHECK(file.skipped().empty());
    }
    // A part of it, a summand, and a placement that is not known are no whole.
    for (const bytes& value : {distributed({"Shard"}, {4, 3}), distributed({"Partial"}), distributed({"Shard", "Odd"}),
                               distributed({"Shard"}, {2, 3, 1})}) {
        const reader file = beside(value);
        CHECK_FALSE(file.contains("odd"));
        CHECK(file.contains("odd._local_tensor"));
        CHECK(says(why_odd(file), "\"DTensor\" of module \"torch.distributed.tensor\""));
    }
}

TEST_CASE("a tensor of a class of its own is the tensors that it is made of, and is listed") {
    using namespace unlisted_values;
    const bytes inner =
        subclass("torchao.dtypes", "PlainLayout", dictionary({{"packed", tensor("CharStorage", "2", 24)}}));
    const reader file = beside(subclass("torchao.dtypes", "AffineQuantizedTensor",
                                        dictionary({{"data_", matrix("1")}, {"impl", inner}, {"bits", number(4)}})));
    CHECK(file.contains("odd.data_"));
    CHECK(file.read<std::int8_t>("odd.impl.packed").value().size() == 24);
    CHECK(says(why_odd(file), "\"AffineQuantizedTensor\" of module \"torchao.dtypes\""));
    // A parameter of one is the same.
    const reader parameter =
        beside(call(global("torch._utils", "_rebuild_parameter"),
                    {subclass("torchao.dtypes", "X", dictionary({{"data_", matrix("1")}})), "\x88", "}"}));
    CHECK(parameter.contains("odd.data_"));
    // A function of such that is not known, as of nested tensors, gets its arguments.
    const reader nested = beside(call(global("torch._tensor", "_rebuild_from_type_v2"),
                                      {global("torch.nested._internal.nested_tensor", "_rebuild_njt"),
                                       global("torch.nested._internal.nested_tensor", "NestedTensor"),
                                       tuple({dictionary({{"values", matrix("1")}})}), "}"}));
    CHECK(nested.contains("odd.0.values"));
    CHECK(says(why_odd(nested), "NestedTensor"));
}

TEST_CASE("a tensor of a dtype, a storage or metadata that are not known is listed, and the others are read") {
    using namespace unlisted_values;
    const bytes of_tomorrow = call(global("torch._utils", "_rebuild_tensor_v3"),
                                   {storage("UntypedStorage", "1", 24), number(0), sizes({24}), sizes({1}), "\x89", ")",
                                    global("torch", "float2_e0m1")});
    CHECK(says(why_odd(beside(of_tomorrow)), "\"float2_e0m1\" of module \"torch\", which is not known"));
    const bytes of_storage = tensor("Float2Storage", "1", 24);
    CHECK(says(why_odd(beside(of_storage)), "\"Float2Storage\" of module \"torch\", which is not known"));
    const bytes with_metadata =
        call(global("torch._utils", "_rebuild_tensor_v2"),
             {storage("FloatStorage", "1", 6), number(0), sizes({6}), sizes({1}), "\x89", ")",
              "}" + text("zero_copy") + "\x88s"});
    CHECK(says(why_odd(beside(with_metadata)), "_rebuild_tensor_v2"));
    for (const char* const type : {"QUInt4x2Storage", "QUInt2x4Storage"}) {
        const bytes quantized =
            call(global("torch._utils", "_rebuild_qtensor"),
                 {storage(type, "1", 24), number(0), sizes({48}), sizes({1}),
                  tuple({global("torch", "per_channel_affine_float_qparams"), tensor("FloatStorage", "2", 6),
                         tensor("FloatStorage", "2", 6), number(0)}),
                  "\x89", ")"});
        CHECK(says(why_odd(beside(quantized)), "share a byte"));
    }
}

TEST_CASE("lists with a limit are lists") {
    using namespace unlisted_values;
    const bytes limited =
        call(global("collections", "deque"), {")", number(3)}) + "(" + matrix("1") + matrix("2") + "e";
    const reader file = beside(limited);
    CHECK(file.contains("odd.0"));
    CHECK(file.contains("odd.1"));
    CHECK(file.skipped().empty());
}

TEST_CASE("arguments that no version would give are damage, whatever else is known") {
    using namespace unlisted_values;
    const bytes damaged = call(global("torch._utils", "_rebuild_tensor_v2"),
                               {number(1), number(0), sizes({6}), sizes({1}), "\x89", ")"});
    CHECK(refusal(opened(checkpoint(dictionary({{"odd", damaged}}), {}))) == errc::pickle_malformed);
}

TEST_CASE("a tensor of more dimensions than there may be is refused by its name") {
    using namespace unlisted_values;
    const std::vector<std::uint64_t> ones(65, 1);
    const bytes wide = strided(storage("ByteStorage", "0", 1), ones, ones);
    const auto by_name = [](const bytes& value) {
        const auto file = opened(checkpoint(value, {bytes(64, 'x'), "x"}), "stem.pt");
        REQUIRE(refusal(file) == errc::limit_exceeded);
        CHECK(says(std::string(file.error().sentence()), "more than 64 dimensions"));
        return std::string(file.error().object());
    };
    CHECK(by_name(dictionary({{"plain", tensor("ByteStorage", "1", 1)}, {"odd", wide}})) == "odd");
    CHECK(by_name(dictionary({{"layers", "](" + wide + "e"}})) == "layers.0");
    CHECK(by_name(wide) == "stem");
    const bytes parameter = call(global("torch._utils", "_rebuild_parameter"), {wide, "\x88", "}"});
    CHECK(by_name(dictionary({{"odd", parameter}})) == "odd");
    const auto sparse = [](const bytes& indices, const std::vector<std::uint64_t>& shape) {
        return call(global("torch._utils", "_rebuild_sparse_tensor"),
                    {text("torch.sparse_coo"), tuple({indices, tensor("ByteStorage", "1", 1), sizes(shape)})});
    };
    CHECK(by_name(dictionary({{"odd", sparse(wide, {9})}})) == "odd");
    const bytes indices = strided(storage("LongStorage", "0", 8), {1, 1}, {1, 1});
    CHECK(by_name(dictionary({{"odd", sparse(indices, ones)}})) == "odd");
    // One that nothing leads to has no name.
    const bytes lost = wide + "0";
    CHECK(support::outcome(opened(checkpoint(lost + dictionary({{"w", tensor("ByteStorage", "1", 1)}}),
                                             {"x", "x"}))) == "ok");
}

TEST_CASE("a pickle of NumPy's arrays is read, of every protocol that says itself, and by its name") {
    using namespace unlisted_values;
    const bytes value = dictionary({{"model", dictionary({{"w", array("f4", 2, bytes(8, '\1'))},
                                                          {"new", array("f4", 2, bytes(8, '\1'),
                                                                        "numpy._core.multiarray")}})},
                                    {"author", text("me")}});
    for (const char protocol : {'\2', '\3', '\4', '\5'}) {
        const auto file = opened(bytes("\x80") + protocol + value + ".", "model.pkl");
        CAPTURE(static_cast<int>(protocol));
        REQUIRE(support::outcome(file) == "ok");
        CHECK(file->read<float>("model.w").value().size() == 2);
        CHECK(file->contains("model.new"));
        CHECK(file->attributes().text("author").value() == "me");
    }
    for (const char* const name : {"model.pkl", "model.PDPARAMS", "x.pickle"}) { // of the oldest protocols
        CHECK(support::outcome(opened(value + ".", name)) == "ok");
    }
    CHECK(refusal(opened(value + ".", "model")) == errc::bad_magic);
    CHECK(refusal(opened(pickle(value) + pickle(value), "model.pkl")) == errc::unclaimed_bytes);
    CHECK(refusal(opened(pickle(value).substr(0, 40), "model.pkl")) == errc::truncated);
    const auto torn_out = opened(pickle(dictionary({{"w", tensor("FloatStorage", "0", 6)}})), "data.pkl");
    REQUIRE(refusal(torn_out) == errc::schema_missing);
    CHECK(says(std::string(torn_out.error().sentence()), "open the checkpoint"));
    CHECK(refusal(opened(pickle("cos\nsystem\n(" + text("true") + "tR"), "evil.pkl")) == errc::pickle_refused);
}
