// SPDX-License-Identifier: MIT
//
// What a file of another format holds that did not become an object.
#ifndef ZTENSOR_SKIPPED_ITEM_HPP
#define ZTENSOR_SKIPPED_ITEM_HPP

#include <ztensor/version.hpp>

#include <string>

namespace ztensor {
inline namespace ZTENSOR_MODE {

/// One item of reader::skipped(). All text is UTF-8: of a name that is not, a backslash, an x and two hexadecimal
/// digits stand for each byte beyond ASCII.
struct skipped_item {
    std::string name;  ///< what the file calls it, as an object would be called: of HDF5 the path
    std::string where; ///< what it lies in or belongs to, such as a graph or an entry; "" for the file itself
    std::string why;   ///< why it is no object here: a sentence without a full stop
};

} // namespace ZTENSOR_MODE
} // namespace ztensor

#endif
