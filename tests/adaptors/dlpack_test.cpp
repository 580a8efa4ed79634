// SPDX-License-Identifier: MIT
//
// Tensors of other libraries, as DLPack's ABI lays them down. What a real one makes of them is asked in numpy.py.
#include "support/bytes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"
#include "support/writing.hpp"

#include <ztensor/dlpack.hpp>
#include <ztensor/load_plan.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/writer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using support::refusal;
using ztensor::errc;
using ztensor::object_view;
using ztensor::reader;

namespace dlpack = ztensor::dlpack;

namespace {

/// A tensor of another library: a matrix of floats of 2 rows and 3 columns, to be changed field by field.
struct lent_matrix {
    std::vector<float> elements = {1, 2, 3, 4, 5, 6};
    std::int64_t dimensions[2] = {2, 3};
    std::int64_t strides[2] = {3, 1};
    dlpack::managed_tensor tensor{};

    lent_matrix() {
        tensor.version = dlpack::current_version;
        tensor.dl_tensor = {elements.data(), {1, 0}, 2, {2, 32, 1}, dimensions, strides, 0};
    }
};

/// Lent where it lies, if this host has the file's order of bytes.
dlpack::handle lend(const reader& model, const char* name) {
    const object_view object = model.find(name).value();
    if (support::host_is_little_endian()) {
        return view_dlpack(model, object).value();
    }
    CHECK(refusal(view_dlpack(model, object)) == errc::needs_byteswap);
    return read_dlpack(object).value();
}

ztensor::result<void> add(const dlpack::managed_tensor& tensor) {
    auto out = support::to_memory();
    return add_dlpack(out, "lent", tensor);
}

reader reopened_with(const dlpack::managed_tensor& tensor) {
    return support::reopened({}, [&](ztensor::writer& out) { add_dlpack(out, "lent", tensor).value(); });
}

} // namespace

TEST_CASE("the structures lie in memory as DLPack's ABI says") {
    if (sizeof(void*) != 8) {
        return; // the numbers below are those of hosts of 64 bits
    }
    CHECK(sizeof(dlpack::managed_tensor) == 80);
    CHECK(offsetof(dlpack::managed_tensor, manager_ctx) == 8);
    CHECK(offsetof(dlpack::managed_tensor, deleter) == 16);
    CHECK(offsetof(dlpack::managed_tensor, flags) == 24);
    CHECK(offsetof(dlpack::managed_tensor, dl_tensor) == 32);
    CHECK(sizeof(dlpack::tensor) == 48);
    CHECK(offsetof(dlpack::tensor, device) == 8);
    CHECK(offsetof(dlpack::tensor, ndim) == 16);
    CHECK(offsetof(dlpack::tensor, dtype) == 20);
    CHECK(offsetof(dlpack::tensor, shape) == 24);
    CHECK(offsetof(dlpack::tensor, strides) == 32);
    CHECK(offsetof(dlpack::tensor, byte_offset) == 40);
}

TEST_CASE("an object of another reader is not viewed: nothing would keep its file open") {
    const auto open = [](float value) {
        return support::reopened({}, [&](ztensor::writer& out) { out.add("w", {2}, {value, value}).value(); });
    };
    const reader model = open(1);
    const reader other = open(2);
    const auto foreign = view_dlpack(model, other["w"]);
    REQUIRE(refusal(foreign) == errc::invalid_argument);
    CHECK(foreign.error().kind() == ztensor::error_kind::usage);
    CHECK(foreign.error().object() == "w");
    CHECK(refusal(view_dlpack(reader(), other["w"])) == errc::invalid_argument);
    CHECK(refusal(view_dlpack(model, other["nothing"])) == errc::object_not_found);
    std::vector<float> into(2);
    CHECK(refusal(ztensor::load_plan(model).add(other["w"], into).run()) == errc::invalid_argument);

    if (support::host_is_little_endian()) {
        const reader copy = model;
        CHECK(view_dlpack(copy, model["w"]));
        const reader named = support::reopened({}, [](ztensor::writer& out) { out.add("v", {1}, {1.0F}).value(); });
        const reader joined = reader::join({model, named}).value();
        CHECK(view_dlpack(joined, joined["w"]));
        CHECK(view_dlpack(joined, model["w"])); // the file is one of those that are kept open
        CHECK(refusal(view_dlpack(joined, other["w"])) == errc::invalid_argument);
    }
}

TEST_CASE("a viewed tensor lends the file's own bytes, read-only, and keeps the file open") {
    const support::temp_dir folder;
    const auto path = folder / "model.zt";
    auto out = ztensor::writer::create(path).value();
    out.add("w", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}).value();
    out.finish().value();

    dlpack::handle lent;
    {
        const reader model = reader::open(path).value();
        lent = lend(model, "w");
        if (support::host_is_little_endian()) {
            CHECK(lent->dl_tensor.data == static_cast<const void*>(model.view<float>("w").value().data()));
            CHECK(lent->flags == dlpack::read_only);
        }
    } // no reader is left but the tensor's
    CHECK(lent->version.major == 1);
    const dlpack::tensor& view = lent->dl_tensor;
    CHECK(view.device.device_type == 1);
    CHECK(view.ndim == 2);
    CHECK((view.shape[0] == 2 && view.shape[1] == 3));
    CHECK((view.strides[0] == 3 && view.strides[1] == 1));
    CHECK((view.dtype.code == 2 && view.dtype.bits == 32 && view.dtype.lanes == 1));
    CHECK(static_cast<const float*>(view.data)[5] == 6);
}

TEST_CASE("a tensor that was read is its owner's to write to") {
    const reader model = support::reopened({}, [](ztensor::writer& out) {
        out.add("packed", {2}, std::vector<std::int16_t>{-1, 2}, ztensor::store().zstd()).value();
    });
    const object_view packed = model.find("packed").value();
    CHECK(refusal(view_dlpack(model, packed)) == errc::not_viewable);

    const dlpack::handle copy = read_dlpack(packed).value();
    CHECK(copy->flags == dlpack::is_copied);
    auto* const elements = static_cast<std::int16_t*>(copy->dl_tensor.data);
    CHECK((elements[0] == -1 && elements[1] == 2));
    elements[0] = 7;
    CHECK(model.read<std::int16_t>("packed").value()[0] == -1);
}

TEST_CASE("scalars and tensors without elements have a shape, too") {
    const reader model = support::reopened({}, [](ztensor::writer& out) {
        out.add("scalar", {}, std::vector<double>{0.5}).value();
        out.add("empty", {3, 0, std::uint64_t{1} << 60}, std::vector<float>()).value();
        out.add("endless", {0, std::uint64_t{1} << 63}, std::vector<std::int8_t>()).value();
    });
    const dlpack::handle scalar = lend(model, "scalar");
    CHECK(scalar->dl_tensor.ndim == 0);
    CHECK(*static_cast<const double*>(scalar->dl_tensor.data) == 0.5);

    const dlpack::handle empty = lend(model, "empty");
    CHECK(empty->dl_tensor.data == nullptr);
    CHECK(empty->dl_tensor.shape[2] == std::int64_t{1} << 60);
    CHECK(empty->dl_tensor.strides[0] > 0);

    CHECK(refusal(view_dlpack(model, model.find("endless").value())) == errc::too_large_for_host);
}

TEST_CASE("what is lent by one library comes back the same from another") {
    const reader model = support::reopened({}, [](ztensor::writer& out) {
        out.add("bf16", {2}, std::vector<ztensor::bfloat16>{ztensor::bfloat16(1.0F), ztensor::bfloat16(-2.0F)}).value();
        out.add("bool", {3}, std::vector<bool>{true, false, true}).value();
        out.add("f8", {1}, std::vector<ztensor::float8_e5m2>{ztensor::float8_e5m2(1.5F)}).value();
        out.add("u64", {1, 1}, std::vector<std::uint64_t>{~std::uint64_t{0}}).value();
        out.add("empty", {0, 4}, std::vector<std::int8_t>()).value();
    });
    const reader copy = support::reopened({}, [&](ztensor::writer& out) {
        for (const object_view object : model) {
            const dlpack::handle lent = read_dlpack(object).value();
            add_dlpack(out, object.name(), *lent).value();
        }
    });
    for (const object_view object : model) {
        INFO(object.name());
        const object_view same = copy.find(object.name()).value();
        CHECK(same.shape() == object.shape());
        const auto expected = object.data().value();
        const auto found = same.data().value();
        CHECK(found.dtype() == expected.dtype());
        CHECK(found.type() == expected.type());
        CHECK(found.read<std::byte>().value() == expected.read<std::byte>().value());
    }
}

TEST_CASE("elements in any order are gathered row by row") {
    lent_matrix transposed; // the same six numbers, as a matrix of 3 rows whose columns lie one behind the other
    transposed.dimensions[0] = 3;
    transposed.dimensions[1] = 2;
    transposed.strides[0] = 1;
    transposed.strides[1] = 3;
    CHECK(reopened_with(transposed.tensor).read<float>("lent").value() == std::vector<float>{1, 4, 2, 5, 3, 6});

    lent_matrix backwards;
    backwards.strides[0] = -3;
    backwards.strides[1] = -1;
    backwards.tensor.dl_tensor.byte_offset = 5 * sizeof(float);
    CHECK(reopened_with(backwards.tensor).read<float>("lent").value() == std::vector<float>{6, 5, 4, 3, 2, 1});

    lent_matrix repeated;
    repeated.strides[0] = 0;
    CHECK(reopened_with(repeated.tensor).read<float>("lent").value() == std::vector<float>{1, 2, 3, 1, 2, 3});

    lent_matrix compact;
    compact.tensor.dl_tensor.strides = nullptr;
    CHECK(reopened_with(compact.tensor).read<float>("lent").value() == compact.elements);
}

TEST_CASE("a tensor that can't be written is refused with its reason") {
    const auto refused = [](auto change) {
        lent_matrix lent;
        change(lent);
        return add(lent.tensor);
    };
    CHECK(refusal(refused([](lent_matrix& m) { m.tensor.version.major = 2; })) == errc::unsupported_version);
    CHECK(refusal(refused([](lent_matrix& m) { m.tensor.dl_tensor.device.device_type = 2; })) ==
          errc::invalid_argument);
    CHECK(refusal(refused([](lent_matrix& m) { m.tensor.dl_tensor.ndim = -1; })) == errc::invalid_argument);
    CHECK(refusal(refused([](lent_matrix& m) { m.tensor.dl_tensor.ndim = 65; })) == errc::invalid_argument);
    CHECK(refusal(refused([](lent_matrix& m) { m.tensor.dl_tensor.shape = nullptr; })) == errc::invalid_argument);
    CHECK(refusal(refused([](lent_matrix& m) { m.dimensions[1] = -3; })) == errc::invalid_argument);
    CHECK(refusal(refused([](lent_matrix& m) { m.tensor.dl_tensor.data = nullptr; })) == errc::invalid_argument);
    CHECK(refusal(refused([](lent_matrix& m) { m.dimensions[0] = std::numeric_limits<std::int64_t>::max(); })) ==
          errc::too_large_for_host);
    CHECK(refusal(refused([](lent_matrix& m) { m.tensor.dl_tensor.dtype.lanes = 4; })) == errc::unsupported_type);
    const auto named = refused([](lent_matrix& m) { m.tensor.dl_tensor.dtype.code = 17; });
    CHECK(refusal(named) == errc::unsupported_type);
    CHECK(named.error().object() == "lent");
}

TEST_CASE("a tensor goes by the name that DLPack's own header gives it") {
    struct foreign_tensor { // what stands in <dlpack/dlpack.h>
        unsigned char bytes[sizeof(dlpack::managed_tensor)];
    };
    const reader model =
        support::reopened({}, [](ztensor::writer& out) { out.add("w", {1}, std::vector<float>{1}).value(); });
    foreign_tensor* const foreign = dlpack::release_as<foreign_tensor>(lend(model, "w"));
    const dlpack::handle again = dlpack::take_over(foreign);
    CHECK(again->dl_tensor.ndim == 1);
}

TEST_CASE("memory of the host is read wherever the other library says that it lies, and that of devices is refused") {
    lent_matrix from;
    for (const auto kind : {dlpack::device_kind::cpu, dlpack::device_kind::cuda_host, dlpack::device_kind::rocm_host}) {
        from.tensor.dl_tensor.device.device_type = static_cast<std::int32_t>(kind);
        CHECK(reopened_with(from.tensor).read<float>("lent").value() == from.elements);
    }
    from.tensor.dl_tensor.device.device_type = 2;
    CHECK(refusal(add(from.tensor)) == errc::invalid_argument);
}

TEST_CASE("a scalar of another library needs no dimensions, and nobody needs to be told that it is let go of") {
    lent_matrix from;
    from.tensor.dl_tensor.ndim = 0;
    from.tensor.dl_tensor.shape = nullptr;
    from.tensor.dl_tensor.strides = nullptr;
    CHECK(reopened_with(from.tensor).read<float>("lent").value() == std::vector<float>{1});
    from.tensor.dl_tensor.ndim = 1;
    CHECK(refusal(add(from.tensor)) == errc::invalid_argument);
    const dlpack::handle without_deleter(&from.tensor);
    CHECK(without_deleter->deleter == nullptr);
}
