// SPDX-License-Identifier: MIT
//
// ZIP archives that are neither NumPy's nor PyTorch's: what they are, told by the names of their entries.
#ifndef ZTENSOR_DETAIL_FOREIGN_ZIP_KINDS_HPP
#define ZTENSOR_DETAIL_FOREIGN_ZIP_KINDS_HPP

#include <ztensor/detail/core/fail.hpp>
#include <ztensor/detail/foreign/zip.hpp>
#include <ztensor/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace ztensor {
inline namespace ZTENSOR_MODE {
namespace detail {

struct zip_kind {
    std::string_view mark; ///< an entry's path, or the end of one behind a slash if it starts with "*/"
    const char* what;
};

inline constexpr zip_kind zip_kinds[] = {
    {"model.weights.h5", "a Keras archive (.keras), whose weights are in the HDF5 file \"model.weights.h5\" in it"},
    {"model.weights.npz", "a Keras archive (.keras): unpack it, and open the \"model.weights.npz\" in it"},
    {"*/archive_format",
     "an archive of PyTorch (.pt2) without weights of torch.export: save its state dict by torch.save"},
    {"serialized_exported_program.json",
     "an archive of torch.export (.pt2) without weights: save its state dict by torch.save"},
    {"MAR-INF/MANIFEST.json", "a model archive of TorchServe (.mar): unpack it, and open the model in it"},
    {"[Content_Types].xml", "a document of Office Open XML (.docx, .xlsx, .pptx) or a package of NuGet"},
    {"mimetype", "a document of OpenDocument or EPUB"},
    {"AndroidManifest.xml", "an Android package (.apk)"},
    {"META-INF/MANIFEST.MF", "a Java archive (.jar)"},
    {"EGG-INFO/PKG-INFO", "a Python egg"},
    {"*/WHEEL", "a Python wheel (.whl): unpack it, and open the files of tensors in it"},
    {"*/saved_model.pb", "a SavedModel of TensorFlow"},
    {"saved_model.pb", "a SavedModel of TensorFlow"},
    {"*/.zarray", "a store of Zarr"},
    {".zgroup", "a store of Zarr"},
    {"*/zarr.json", "a store of Zarr"},
    {"zarr.json", "a store of Zarr"},
};

[[nodiscard]] inline bool is_mark(std::string_view mark, std::string_view name) noexcept {
    if (mark.substr(0, 1) != "*") {
        return name == mark;
    }
    mark.remove_prefix(1);
    return name.size() > mark.size() && name.substr(name.size() - mark.size()) == mark;
}

/// What the archive is; null if no entry says it.
[[nodiscard]] ZTENSOR_COLD inline const char* zip_kind_of(const zip_directory& directory) noexcept {
    for (const zip_entry& each : directory.entries()) {
        for (const zip_kind& kind : zip_kinds) {
            if (is_mark(kind.mark, each.name)) {
                return kind.what;
            }
        }
    }
    return nullptr;
}

/// An archive without arrays, that has entries.
[[nodiscard]] ZTENSOR_COLD inline error unknown_zip(const zip_directory& directory) {
    constexpr std::size_t most_told = 3;
    std::string names;
    const std::size_t count = directory.entries().size();
    for (std::size_t i = 0; i < (std::min)(count, most_told); ++i) {
        names += i == 0 ? "" : ", ";
        names += quote(directory.entries()[i].name);
    }
    return fail(
        errc::foreign_file,
        "a ZIP archive without any array (.npy) or checkpoint of PyTorch in it: it holds {}{}. Tensors in files "
        "of it can be read when it is unpacked",
        {names, count > most_told ? ", ..." : ""});
}

} // namespace detail
} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
