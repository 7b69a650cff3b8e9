/// A hash key with its own increasing sequence numbers: SLS stores what comes under one number once, however
/// often it is sent. A lane carries one packet at a time.
package struct Lane: Sendable, Hashable {
    /// A point of the MD5 range, 32 lower hexadecimal digits.
    package let key: String
    package let sequence: Int64

    package init(key: String, sequence: Int64) {
        self.key = key
        self.sequence = sequence
    }
}
