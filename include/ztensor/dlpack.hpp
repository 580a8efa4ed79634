// SPDX-License-Identifier: MIT
//
// Tensors lent to and taken from other libraries of the same process (NumPy, PyTorch, JAX, ...) by DLPack 1.x.
// Include it where it is used.
#ifndef ZTENSOR_DLPACK_HPP
#define ZTENSOR_DLPACK_HPP

#include <ztensor/array.hpp>
#include <ztensor/detail/base/bytes.hpp>
#include <ztensor/detail/base/elements.hpp>
#include <ztensor/detail/base/fail.hpp>
#include <ztensor/dtype.hpp>
#include <ztensor/object_draft.hpp>
#include <ztensor/reader.hpp>
#include <ztensor/result.hpp>
#include <ztensor/shape.hpp>
#include <ztensor/span.hpp>
#include <ztensor/version.hpp>
#include <ztensor/visit.hpp>
#include <ztensor/writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ztensor {
inline namespace ZTENSOR_MODE {

// -- dlpack types
//
// The few structures of DLPack's ABI, version 1.x, so that no header of theirs is needed. Included by dlpack.hpp.

/// The structures of DLPack's ABI, version 1.x, with its own names for the fields.
namespace dlpack {

/// A change of `major` is one of the layout, a change of `minor` adds device kinds or type codes.
struct version {
    std::uint32_t major; ///< 1
    std::uint32_t minor; ///< whatever it was when the tensor was made
};

/// Where memory is: of the kinds of devices, those whose memory this host reads like its own.
enum class device_kind : std::int32_t { cpu = 1, cuda_host = 3, rocm_host = 11 };

/// One device of a kind.
struct device {
    std::int32_t device_type; ///< a device_kind, or another
    std::int32_t device_id;   ///< 0 of the host
};

/// What the bits of an element mean.
enum class type_code : std::uint8_t {
    signed_integer = 0,
    unsigned_integer = 1,
    ieee_float = 2,
    bfloat = 4,
    complex = 5,
    boolean = 6,
    float8_e4m3fn = 10,
    float8_e4m3fnuz = 11,
    float8_e5m2 = 12,
    float8_e5m2fnuz = 13,
};

/// What an element is.
struct data_type {
    std::uint8_t code;   ///< a type_code, or another
    std::uint8_t bits;   ///< of one element
    std::uint16_t lanes; ///< 1 of everything that this library knows
};

/// Elements in memory, without their owner.
struct tensor {
    void* data;                ///< null if there are no elements
    dlpack::device device;     ///< whose memory it is
    std::int32_t ndim;         ///< how many dimensions
    data_type dtype;           ///< of each element
    std::int64_t* shape;       ///< as many as dimensions
    std::int64_t* strides;     ///< likewise, in elements; null: row-major
    std::uint64_t byte_offset; ///< from data to the first element
};

/// What DLPack calls a DLManagedTensorVersioned. Its consumer calls the deleter once, when it is done with the memory.
struct managed_tensor {
    dlpack::version version;               ///< of the layout
    void* manager_ctx;                     ///< the owner's own
    void (*deleter)(managed_tensor* self); ///< null where nothing is to be done
    std::uint64_t flags;                   ///< read_only, is_copied
    tensor dl_tensor;                      ///< the elements
};

/// The memory must not be written to.
inline constexpr std::uint64_t read_only = 1;
/// The memory was made for this tensor and is used by nothing else.
inline constexpr std::uint64_t is_copied = 2;
/// What this library writes. It reads every 1.x.
inline constexpr version current_version = {1, 1};
/// The name of a Python capsule that holds one of these, to be taken over.
inline constexpr const char* capsule_name = "dltensor_versioned";
/// The name of one that has been taken over.
inline constexpr const char* used_capsule_name = "used_dltensor_versioned";

/// Lets the owner go.
struct call_deleter {
    void operator()(managed_tensor* tensor) const noexcept {
        if (tensor->deleter != nullptr) {
            tensor->deleter(tensor);
        }
    }
};

/// A tensor that lives as long as its handle. release() hands it on: the new owner calls its deleter.
using handle = std::unique_ptr<managed_tensor, call_deleter>;

/// The same by the name that <dlpack/dlpack.h> gives it: release_as<DLManagedTensorVersioned>(std::move(tensor)).
template <class Foreign>
[[nodiscard]] Foreign* release_as(handle tensor) noexcept {
    static_assert(sizeof(Foreign) == sizeof(managed_tensor) && std::is_trivially_copyable_v<Foreign>,
                  "a tensor is released as a DLManagedTensorVersioned of DLPack 1.x");
    return static_cast<Foreign*>(static_cast<void*>(tensor.release()));
}

/// A DLManagedTensorVersioned by our name, which the handle owns from now on.
template <class Foreign>
[[nodiscard]] handle take_over(Foreign* tensor) noexcept {
    static_assert(sizeof(Foreign) == sizeof(managed_tensor) && std::is_trivially_copyable_v<Foreign>,
                  "what is taken over is a DLManagedTensorVersioned of DLPack 1.x");
    return handle(static_cast<managed_tensor*>(static_cast<void*>(tensor)));
}

} // namespace dlpack

namespace detail {

/// What a type of ours is in DLPack, in both directions.
struct dlpack_type {
    dtype storage;
    std::string_view type;
    dlpack::type_code code;
    unsigned bits;
};
inline constexpr dlpack_type dlpack_types[] = {
    {dtype::f64, "", dlpack::type_code::ieee_float, 64},
    {dtype::f32, "", dlpack::type_code::ieee_float, 32},
    {dtype::f16, "", dlpack::type_code::ieee_float, 16},
    {dtype::bf16, "", dlpack::type_code::bfloat, 16},
    {dtype::i64, "", dlpack::type_code::signed_integer, 64},
    {dtype::i32, "", dlpack::type_code::signed_integer, 32},
    {dtype::i16, "", dlpack::type_code::signed_integer, 16},
    {dtype::i8, "", dlpack::type_code::signed_integer, 8},
    {dtype::u64, "", dlpack::type_code::unsigned_integer, 64},
    {dtype::u32, "", dlpack::type_code::unsigned_integer, 32},
    {dtype::u16, "", dlpack::type_code::unsigned_integer, 16},
    {dtype::u8, "", dlpack::type_code::unsigned_integer, 8},
    {dtype::boolean, "", dlpack::type_code::boolean, 8},
    {dtype::u8, "f8_e4m3fn", dlpack::type_code::float8_e4m3fn, 8},
    {dtype::u8, "f8_e5m2", dlpack::type_code::float8_e5m2, 8},
    {dtype::u8, "f8_e4m3fnuz", dlpack::type_code::float8_e4m3fnuz, 8},
    {dtype::u8, "f8_e5m2fnuz", dlpack::type_code::float8_e5m2fnuz, 8},
    {dtype::f32, "complex64", dlpack::type_code::complex, 64},
    {dtype::f64, "complex128", dlpack::type_code::complex, 128},
};

/// DLPack's type for a T that element_traits describes and that the table holds.
template <class T>
[[nodiscard]] dlpack::data_type dlpack_type_of() noexcept {
    const auto* const row = std::find_if(std::begin(dlpack_types), std::end(dlpack_types), [](const dlpack_type& each) {
        return each.storage == element_traits<T>::storage && each.type == element_traits<T>::type;
    });
    return {static_cast<std::uint8_t>(row->code), static_cast<std::uint8_t>(row->bits), 1};
}

/// Errors: unsupported_type.
inline result<const dlpack_type*> find_dlpack_type(dlpack::data_type wanted) noexcept {
    for (const dlpack_type& row : dlpack_types) {
        if (static_cast<unsigned>(row.code) == wanted.code && row.bits == wanted.bits && wanted.lanes == 1) {
            return &row;
        }
    }
    return fail(errc::unsupported_type, "no dtype stands for DLPack's type of code {}, {} bits and {} lanes",
                {wanted.code, wanted.bits, wanted.lanes});
}

/// A tensor with all that it needs: its deleter releases the reader, or the elements.
template <class Owner>
struct dlpack_package {
    dlpack::managed_tensor tensor{};
    std::vector<std::int64_t> dimensions; ///< then as many strides
    Owner owner;

    explicit dlpack_package(Owner of) : owner(std::move(of)) {}
    static void remove(dlpack::managed_tensor* self) noexcept {
        delete static_cast<dlpack_package*>(self->manager_ctx);
    }
};

/// Dimensions and strides as DLPack counts them. Errors: too_large_for_host.
inline result<std::vector<std::int64_t>> dlpack_dimensions(const shape& dimensions) {
    constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
    const std::size_t rank = dimensions.rank();
    std::vector<std::int64_t> numbers(2 * rank);
    std::uint64_t stride = 1;
    for (std::size_t i = rank; i-- > 0;) {
        const std::uint64_t dimension = dimensions[i];
        if (dimension > most) {
            return fail(errc::too_large_for_host, "DLPack counts up to {}, and dimension {} is {}",
                        {most, i, dimension});
        }
        numbers[i] = static_cast<std::int64_t>(dimension);
        numbers[rank + i] = static_cast<std::int64_t>(stride);
        // No product of dimensions is too large but in a tensor without elements, where no stride counts.
        stride = (std::min)(checked_multiply(stride, (std::max<std::uint64_t>)(dimension, 1)).value_or(most), most);
    }
    return numbers;
}

/// Errors: too_large_for_host, out_of_memory.
template <class T, class Owner>
result<dlpack::handle> pack_for_dlpack(Owner owner, const shape& dimensions, const T* elements, std::uint64_t flags) {
    return guard_memory([&]() -> result<dlpack::handle> {
        ZTENSOR_TRY_ASSIGN(std::vector<std::int64_t> numbers, dlpack_dimensions(dimensions));
        auto package = std::make_unique<dlpack_package<Owner>>(std::move(owner));
        package->dimensions = std::move(numbers);
        dlpack::tensor view{};
        // DLPack has no pointer to constant memory: the flag says that it is.
        view.data = dimensions.element_count() == 0 ? nullptr : const_cast<std::remove_const_t<T>*>(elements);
        view.device = {static_cast<std::int32_t>(dlpack::device_kind::cpu), 0};
        view.ndim = static_cast<std::int32_t>(dimensions.rank());
        view.dtype = dlpack_type_of<std::remove_const_t<T>>();
        view.shape = package->dimensions.data();
        view.strides = package->dimensions.data() + dimensions.rank();
        package->tensor = {dlpack::current_version, package.get(), &dlpack_package<Owner>::remove, flags, view};
        return dlpack::handle(&package.release()->tensor);
    });
}

/// Whether the memory is the host's, and there is a shape. Errors: unsupported_version, invalid_argument.
inline result<void> check_foreign_tensor(const dlpack::managed_tensor& from) noexcept {
    if (from.version.major != dlpack::current_version.major) { // then nothing else may be looked at
        return fail(errc::unsupported_version, "the tensor is of DLPack {}.{}, and only 1.x is known",
                    {from.version.major, from.version.minor});
    }
    const dlpack::tensor& view = from.dl_tensor;
    const auto kind = static_cast<dlpack::device_kind>(view.device.device_type);
    if (kind != dlpack::device_kind::cpu && kind != dlpack::device_kind::cuda_host &&
        kind != dlpack::device_kind::rocm_host) {
        return fail(errc::invalid_argument,
                    "the tensor is in the memory of a device, of DLPack's kind {}: copy it to the host first",
                    {view.device.device_type});
    }
    if (view.ndim < 0 || view.ndim > static_cast<std::int32_t>(max_rank)) {
        return fail(errc::invalid_argument, "the tensor has {} dimensions, and 0 to {} are possible",
                    {view.ndim, max_rank});
    }
    if (view.ndim > 0 && view.shape == nullptr) {
        return fail(errc::invalid_argument, "the tensor has {} dimensions and gives none of them", {view.ndim});
    }
    return {};
}

/// The size of all elements in bytes. Errors: too_large_for_host; invalid_argument for elements that are nowhere.
inline result<std::size_t> foreign_bytes(const dlpack::tensor& view, const shape& dimensions,
                                         std::size_t element_bytes) noexcept {
    const std::optional<std::uint64_t> count = dimensions.element_count();
    const std::optional<std::uint64_t> bytes = count ? checked_multiply(*count, element_bytes) : std::nullopt;
    if (!bytes || *bytes > static_cast<std::uint64_t>((std::numeric_limits<std::ptrdiff_t>::max)())) {
        return fail(errc::too_large_for_host, "the tensor claims more bytes than this host can address");
    }
    if (*bytes > 0 && view.data == nullptr) {
        return fail(errc::invalid_argument, "the tensor has {} elements and points to none", {*count});
    }
    return static_cast<std::size_t>(*bytes);
}

/// True if its elements lie one behind the other, the last dimension the fastest.
[[nodiscard]] inline bool is_row_major(const dlpack::tensor& view) noexcept {
    std::int64_t expected = 1;
    for (std::int32_t i = view.ndim; view.strides != nullptr && i-- > 0;) {
        if (view.shape[i] != 1 && view.strides[i] != expected) {
            return false;
        }
        expected *= view.shape[i];
    }
    return true;
}

/// The elements of a tensor that is not empty, in row-major order. `gathered` is as large as all of them.
inline void gather_rows(const dlpack::tensor& view, const std::byte* first, std::size_t element_bytes,
                        span<std::byte> gathered) noexcept {
    std::int64_t index[max_rank] = {};
    const std::byte* element = first;
    for (std::size_t done = 0; done < gathered.size(); done += element_bytes) {
        std::memcpy(gathered.data() + done, element, element_bytes);
        for (std::int32_t i = view.ndim; i-- > 0;) {
            const std::int64_t step = view.strides[i] * static_cast<std::int64_t>(element_bytes);
            if (++index[i] < view.shape[i]) {
                element += step;
                break;
            }
            element -= step * (view.shape[i] - 1);
            index[i] = 0;
        }
    }
}

/// A tensor of another library as a writer takes it.
struct foreign_elements {
    shape dimensions;
    typed_bytes elements;
    std::vector<std::byte> gathered; ///< where they did not lie in row-major order
};

/// Throws std::bad_alloc.
inline result<foreign_elements> elements_of(const dlpack::managed_tensor& from) {
    ZTENSOR_TRY(check_foreign_tensor(from));
    const dlpack::tensor& view = from.dl_tensor;
    ZTENSOR_TRY_ASSIGN(const dlpack_type* type, find_dlpack_type(view.dtype));
    foreign_elements taken;
    for (std::int32_t i = 0; i < view.ndim; ++i) {
        if (view.shape[i] < 0) {
            return fail(errc::invalid_argument, "dimension {} of the tensor is {}", {i, view.shape[i]});
        }
        taken.dimensions.push_back(static_cast<std::uint64_t>(view.shape[i]));
    }
    const std::size_t element_bytes = type->bits / 8;
    ZTENSOR_TRY_ASSIGN(const std::size_t size, foreign_bytes(view, taken.dimensions, element_bytes));
    taken.elements = {type->storage, type->type, {}};
    if (size == 0) {
        return taken;
    }
    const std::byte* const first =
        static_cast<const std::byte*>(view.data) + static_cast<std::size_t>(view.byte_offset);
    taken.elements.bytes = {first, size};
    if (!is_row_major(view)) {
        taken.gathered.resize(size);
        gather_rows(view, first, element_bytes, taken.gathered);
        taken.elements.bytes = taken.gathered; // which stay where they are when the vector moves
    }
    return taken;
}

} // namespace detail

/// A dense object where it lies, without a copy: read-only memory, which a copy of the reader keeps alive until the
/// tensor is deleted. Bools are lent as they are stored. Touches and verifies nothing.
/// Errors: invalid_argument for an object of another reader; unsupported_format (not dense); not_viewable,
/// needs_byteswap, misaligned_memory, as component_view::view(); unknown_dtype, unsupported_type; too_large_for_host
/// (DLPack counts with 63 bits); out_of_memory.
inline result<dlpack::handle> view_dlpack(const reader& model, const object_view& object) {
    ZTENSOR_TRY(detail::check_is_of(model, object));
    return visit(object, [&](auto elements) -> result<dlpack::handle> {
        return detail::pack_for_dlpack(model, object.shape(), elements.data(), dlpack::read_only);
    });
}

/// A dense object decoded and verified, in memory of its own, which the tensor's owner may write to and which goes with
/// it. Errors: as component_view::read() and view_dlpack().
inline result<dlpack::handle> read_dlpack(const object_view& object) {
    return visit_type(object, [&](auto of) -> result<dlpack::handle> {
        using element = typename decltype(of)::type;
        ZTENSOR_TRY_ASSIGN(array<element> elements, object.load<element>());
        const element* const first = elements.data(); // stays where it is when the array moves
        return detail::pack_for_dlpack(std::move(elements), object.shape(), first, dlpack::is_copied);
    });
}

/// Adds a tensor of another library, which stays its owner's. One that is not row-major is gathered into memory first;
/// the others are written from where they lie.
/// Errors: unsupported_version (no DLPack 1.x); unsupported_type (none of ours); invalid_argument (memory of a device,
/// dimensions that are none); too_large_for_host; out_of_memory; as writer::add().
inline result<void> add_dlpack(writer& out, std::string_view name, const dlpack::managed_tensor& from,
                               const store& how = {}) {
    return detail::guard_memory([&]() -> result<void> {
        ZTENSOR_TRY_ASSIGN(const detail::foreign_elements taken, detail::in_object(detail::elements_of(from), name));
        object_draft draft(format::dense, taken.dimensions);
        detail::draft_access::add(draft, "data", taken.elements, how);
        return out.add_object(name, draft);
    });
}

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
