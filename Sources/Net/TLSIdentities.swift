import COpenSSL
import System

/// What was read from the files of one listener: a context of OpenSSL for each certificate.
///
/// Sessions keep it alive, since the callbacks of OpenSSL point to it. Contexts are safe to use on many
/// threads once they are set up.
final class TLSIdentities: @unchecked Sendable {
    let certificates: [TLSCertificate]
    private let contexts: [OpaquePointer]

    init(_ settings: TLSSettings) throws(TLSError) {
        guard !settings.certificates.isEmpty else { throw .noCertificate }
        var contexts: [OpaquePointer] = []
        var certificates: [TLSCertificate] = []
        do throws(TLSError) {
            for files in settings.certificates {
                let context = try newContext()
                contexts.append(context)
                try configure(context, settings)
                try TLSFiles.load(files, into: context)
                guard let certificate = SSL_CTX_get0_certificate(context) else { continue }
                certificates.append(TLSCertificate(certificate, file: files.chainFile))
            }
        } catch {
            for context in contexts { SSL_CTX_free(context) }
            throw error
        }
        self.contexts = contexts
        self.certificates = certificates
        sluice_choose_by_server_name(
            contexts[0],
            { session, _, identities in
                guard let session, let identities else { return SSL_TLSEXT_ERR_NOACK }
                Unmanaged<TLSIdentities>.fromOpaque(identities).takeUnretainedValue()
                    .chooseContext(for: session)
                return SSL_TLSEXT_ERR_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    deinit {
        for context in contexts { SSL_CTX_free(context) }
    }

    /// A session of the first context; another takes its place when the client has named a host.
    func newSession() -> OpaquePointer? { SSL_new(contexts[0]) }

    private func chooseContext(for session: OpaquePointer) {
        guard contexts.count > 1,
            let name = SSL_get_servername(session, TLSEXT_NAMETYPE_host_name)
        else { return }
        // The very name comes before a wildcard that covers it.
        let exactly = UInt32(X509_CHECK_FLAG_NO_WILDCARDS)
        let chosen =
            contexts.first { Self.names($0, name, flags: exactly) }
            ?? contexts.first { Self.names($0, name, flags: 0) }
        if let chosen { SSL_set_SSL_CTX(session, chosen) }
    }

    private static func names(
        _ context: OpaquePointer,
        _ name: UnsafePointer<CChar>,
        flags: UInt32
    ) -> Bool {
        guard let certificate = SSL_CTX_get0_certificate(context) else { return false }
        return X509_check_host(certificate, name, 0, flags, nil) == 1
    }
}

private func newContext() throws(TLSError) -> OpaquePointer {
    guard let context = SSL_CTX_new(TLS_server_method()) else {
        throw .library(reason: TLSReason.take())
    }
    return context
}
