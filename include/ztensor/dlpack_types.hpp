// SPDX-License-Identifier: MIT
//
// The few structures of DLPack's ABI, version 1.x, so that no header of theirs is needed. Included by dlpack.hpp.
#ifndef ZTENSOR_DLPACK_TYPES_HPP
#define ZTENSOR_DLPACK_TYPES_HPP

#include <ztensor/version.hpp>

#include <cstdint>
#include <memory>
#include <type_traits>

namespace ztensor {
inline namespace ZTENSOR_MODE {

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

/// What DLPack calls a DLManagedTensorVersioned. Whoever has one calls its deleter once, when it is done with the
/// memory.
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

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
