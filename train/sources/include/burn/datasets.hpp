/* datasets.hpp - burn/datasets.h for C++17: constructors of burn::train::Dataset, and pictures. Failures throw
 * burn::Error.
 *
 *   auto data = burn::datasets::image_folder("pictures/train", config); */
#ifndef BURN_DATASETS_HPP
#define BURN_DATASETS_HPP

#include <burn/datasets.h>
#include <burn/train.hpp>

namespace burn {
namespace datasets {

namespace detail {
template <class Make>
train::Dataset made(Make make) {
  BurnStatus status = BURN_OK;
  BurnDataset *handle = make(&status);
  check(status);
  return train::Dataset(handle);
}
}  // namespace detail

inline train::Dataset image_folder(const std::string &folder, const BurnImageConfig &config) {
  return detail::made([&](BurnStatus *status) { return burn_dataset_image_folder(folder.c_str(), &config, status); });
}
inline train::Dataset text_folder(const std::string &folder, const BurnTextConfig &config) {
  return detail::made([&](BurnStatus *status) { return burn_dataset_text_folder(folder.c_str(), &config, status); });
}
/* The columns' data are not used. */
inline train::Dataset sqlite(const std::string &path, const std::string &table,
                             const std::vector<train::Column> &columns) {
  std::vector<BurnColumn> rows;
  for (const train::Column &column : columns) rows.push_back({column.name.c_str(), column.dtype, column.shape});
  return detail::made([&](BurnStatus *status) {
    return burn_dataset_sqlite(path.c_str(), table.c_str(), rows.data(), rows.size(), status);
  });
}
inline void sqlite_write(const std::string &path, const std::string &table, const train::Dataset &dataset,
                         bool overwrite = false) {
  check(burn_dataset_sqlite_write(path.c_str(), table.c_str(), dataset.get(), overwrite));
}
inline train::Dataset mnist(std::uint32_t split, const BurnVisionConfig &config = {}) {
  return detail::made([&](BurnStatus *status) { return burn_dataset_mnist_fetch(&config, split, status); });
}
inline train::Dataset fashion_mnist(std::uint32_t split, const BurnVisionConfig &config = {}) {
  return detail::made([&](BurnStatus *status) { return burn_dataset_fashion_mnist(&config, split, status); });
}
inline train::Dataset cifar10(std::uint32_t split, const BurnVisionConfig &config = {}) {
  return detail::made([&](BurnStatus *status) { return burn_dataset_cifar10(&config, split, status); });
}
inline train::Dataset cifar100(std::uint32_t split, const BurnVisionConfig &config = {}) {
  return detail::made([&](BurnStatus *status) { return burn_dataset_cifar100(&config, split, status); });
}

/* A picture; see BurnImage. */
class Image {
 public:
  static Image read(const std::string &path, std::uint32_t channels = 0) {
    Image image;
    check(burn_image_read(path.c_str(), channels, &image.image_));
    return image;
  }
  Image(Image &&other) noexcept : image_(std::exchange(other.image_, BurnImage{})) {}
  Image &operator=(Image &&other) noexcept {
    std::swap(image_, other.image_);
    return *this;
  }
  ~Image() { burn_image_release(&image_); }
  Image resize(std::uint32_t width, std::uint32_t height) const {
    Image out;
    check(burn_image_resize(&image_, nullptr, width, height, &out.image_));
    return out;
  }
  void flip() { burn_image_flip(&image_); }
  void write_png(const std::string &path) const { check(burn_image_write_png(path.c_str(), &image_)); }
  void write_jpeg(const std::string &path, int quality = 90) const {
    check(burn_image_write_jpeg(path.c_str(), &image_, quality));
  }
  const BurnImage &get() const noexcept { return image_; }

 private:
  Image() = default;
  BurnImage image_ = {};
};

}  // namespace datasets
}  // namespace burn

#endif
