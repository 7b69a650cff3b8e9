package import Net

/// A second door for devices, which speaks TLS.
package struct DeviceTLS: Sendable, Equatable {
    /// What it is called in reports and in the journal.
    package static let listener = "devices-tls"

    package var listen: ListenAddress
    package var settings: TLSSettings

    package init(listen: ListenAddress, settings: TLSSettings) {
        self.listen = listen
        self.settings = settings
    }
}
