"""Golden rows of Fourier transforms, short-time transforms and windows."""
from ops_golden import *
from scipy.signal import windows

LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 27, 32)


def parts(y, dtype=f32):
    return [np.ascontiguousarray(n(y.real, dtype)), np.ascontiguousarray(n(y.imag, dtype))]


def transforms():
    for size in LENGTHS:
        for dtype in (f32, f64):
            name, bound = f"{NAMES[np.dtype(dtype).name]} {size}", (2e-6, 3e-6) if dtype == f32 else (1e-13,
                    1e-14 * size + 1e-14)
            x, y = Pattern(dtype, (2, size), 1), Pattern(dtype, (2, size), 6)
            big_case("rfft", name, x, parts(torch.fft.rfft(t64(x)), dtype), (1, 0), bound)
            z = torch.complex(t64(x), t64(y))
            big_case("cfft", name, [x, y], parts(torch.fft.fft(z), dtype), (1, 0), bound)
            bins = size // 2 + 1
            re, im = Pattern(dtype, (2, bins), 2), Pattern(dtype, (2, bins), 8)
            big_case("irfft", name, [re, im], n(torch.fft.irfft(torch.complex(t64(re), t64(im)), size), dtype), (1, size),
                    bound)
    x, y = Pattern(f32, (3, 8, 2), 1), Pattern(f32, (3, 8, 2), 4)
    bound = (2e-6, 3e-6)
    for dim in (0, 1, -1):
        z = torch.complex(t64(x), t64(y))
        case("rfft", f"rank 3 dim {dim}", x, parts(torch.fft.rfft(t64(x), dim=dim)), (dim, 0), bound)
        big_case("cfft", f"rank 3 dim {dim}", [x, y], parts(torch.fft.fft(z, dim=dim)), (dim, 0), bound)
        if x.array.shape[dim] > 1:
            big_case("irfft", f"rank 3 dim {dim}", [x, y], n(torch.fft.irfft(z, dim=dim)), (dim, 0), bound)
    for size in (4, 6, 8, 11, 16):
        x, y = Pattern(f32, (2, 7), 3), Pattern(f32, (2, 7), 5)
        z = torch.complex(t64(x), t64(y))
        case("rfft", f"7 cut or padded to {size}", x, parts(torch.fft.rfft(t64(x), size)), (1, size), bound)
        case("cfft", f"7 cut or padded to {size}", [x, y], parts(torch.fft.fft(z, size)), (1, size), bound)
        case("irfft", f"7 bins cut or padded to {size}", [x, y], n(torch.fft.irfft(z, size)), (1, size), bound)
    case("rfft", "whole numbers are exact", array([1, 2, 3, 4]), [array([10, -2, -2]), array([0, 2, 0])], (0, 0), (0, 1e-30))
    case("irfft", "and back", [array([10, -2, -2]), array([0, 2, 0])], array([1, 2, 3, 4]), (0, 0), (1e-9, 0))
    case("irfft", "imaginary parts of the ends are ignored", [array([10, -2, -2]), array([7, 2, -9])], array([1, 2, 3, 4]),
             (0, 0),
         (1e-7, 0))
    case("rfft", "no rows", np.zeros((0, 4), f32), [np.zeros((0, 3), f32)] * 2, (1, 0))
    case("rfft", "an empty axis padded", np.zeros((2, 0), f32), [np.zeros((2, 3), f32)] * 2, (1, 4), (0, 1e-30))
    for size in (1024, 1000):
        x = Pattern(f32, (2, size), 1)
        case("rfft", f"many: {size}", x, [Digest(m) for m in parts(torch.fft.rfft(t64(x)))], (1, 0), (1e-5, 1e-2))
        x = Pattern(f64, (size, 2), 1)
        case("rfft", f"f64 many: {size}", x, [Digest(m) for m in parts(torch.fft.rfft(t64(x), dim=0), f64)], (0, 0), (1e-12,
                 1e-10))


def short_time():
    """n_fft, hop, win_length (0: n_fft), center, onesided; with and without a window."""
    settings = ((8, 2, 0, 1, 1), (8, 3, 6, 1, 1), (8, 4, 5, 0, 1), (8, 2, 0, 1, 0), (6, 2, 0, 1, 0), (5, 2, 0, 1, 0), (1, 1,
            0, 1, 1),
                (16, 4, 0, 0, 0))
    for setting in settings:
        n_fft, hop, length, center, onesided = setting
        x = Pattern(f64, (1, 19), 1)
        size = length or n_fft
        for label, window in (("", None), (", window", windows.general_hamming(size, 0.54, sym=False))):
            given = torch.ones(size, dtype=torch.float64) if window is None else torch.from_numpy(window.copy())
            y = torch.stft(t64(x), n_fft, hop, size, given, bool(center), "reflect", onesided=bool(onesided),
                    return_complex=True)
            y = torch.view_as_real(y.transpose(1, 2).contiguous())
            big_case("stft", f"{setting}{label}", [x, window], n(y, f64), setting, (1e-12, 1e-13))
            y = torch.round(y * 1e5) / 1e5  # short texts
            back = torch.istft(torch.view_as_complex(y).transpose(1, 2), n_fft, hop, size, given, bool(center),
                               onesided=bool(onesided)) if length != 5 and n_fft > 1 else None  # which PyTorch refuses
            if back is None:
                continue
            big_case("istft", f"{setting}{label}", [n(y, f64), window], n(back, f64), (*setting, 0), (1e-11, 1e-12))
            for wanted in (5, 40):
                fit = np.zeros((1, wanted))
                fit[:, :min(wanted, back.shape[1])] = n(back, f64)[:, :wanted]
                big_case("istft", f"{setting}{label}, length {wanted}", [n(y, f64), window], fit, (*setting, wanted), (1e-11,
                        1e-12))
    x = Pattern(f32, (1, 30), 2)
    y = torch.view_as_real(torch.stft(t64(x), 8, 2, window=torch.ones(8).double(), return_complex=True).transpose(1,
            2).contiguous())
    big_case("stft", "f32", [x, None], n(y), (8, 2, 0, 1, 1), (3e-6, 1e-5))
    # A window of 0 at an edge that no other frame covers: the sum of squares is taken as 1e-10 there.
    y = torch.view_as_real(torch.fft.rfft(torch.ones(1, 1, 4).double()))
    window = array([0, 1, 1, 1], f64)
    case("istft", "zeros of the window", [n(y, f64), window], array([[0, 1, 1, 1]], f64), (4, 1, 0, 0, 1, 0), (1e-12, 1e-13))


def tapers():
    for size in (0, 1, 2, 3, 8, 9):
        for periodic in (0, 1):
            table = (("hann_window", windows.general_cosine, [0.5, 0.5]), ("hamming_window", windows.general_cosine, [25 / 46,
                    21 / 46]),
                     ("blackman_window", windows.general_cosine, [0.42, 0.5, 0.08]))
            for op, function, weights in table:
                y = function(size, weights, sym=not periodic) if size else np.zeros(0)
                for name, dtype in (("f32", f32), ("f64", f64)):
                    case(op, f"{name} {size} periodic {periodic}", None, y.astype(dtype), (size, periodic, int(dtype == f64)),
                         (1e-6, 1e-7) if dtype == f32 else (1e-13, 1e-15))


def signal():
    transforms()
    short_time()
    tapers()
    write("signal")
