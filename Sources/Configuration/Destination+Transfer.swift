package import Delivery
package import Queue
package import SLS

extension Destination {
    /// What SLS takes in one request, before compression.
    static let requestBytesMax = 10 << 20

    /// How packets are made and sent.
    package struct Transfer: Sendable, Equatable {
        package var compression = Compression.lz4
        package var packet = PacketLimits()
        package var concurrency = 8
        /// For delivery exactly once; 0 delivers at least once.
        package var lanes = 0
        package var dropsUnauthorized = false
        package var connectTimeout: Duration = .seconds(10)
        package var sendTimeout: Duration = .seconds(15)
        /// Absent, it is the send timeout.
        package var stallTimeout: Duration?
        /// SLS's clock minus this machine's, until SLS has told its own.
        package var clockOffset: Duration = .zero
        package var proxy: Proxy?
        /// Certificates to trust instead of the system's.
        package var certificateFile: String?
    }
}
