import System

/// The text that a part of a path stands for; nil when it is not one.
func percentDecodedText(_ bytes: ArraySlice<UInt8>) -> String? {
    percentDecoded(bytes).flatMap { String(validating: $0, as: UTF8.self) }
}
