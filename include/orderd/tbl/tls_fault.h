/* What can go wrong between TCP and the login, where TLS is asked for:
 *
 *   X(ID, class, "sentence")
 *
 * class: SETUP, somebody has to act; AWAY, waiting may help. In the sentence {group} is the group of the configuration
 * ("broker"), {host} whom we asked for, {named} and {ported} where host and port are to be mended ("broker.host"),
 * {detail} what was seen. No guard: included once per use. */
X(AUTHORITY, SETUP,
  "its certificate is not signed by {group}.tls_ca_file ({detail}); name the file of the authority that signed it")
X(NAME, SETUP,
  "its certificate is for {detail}, not for {host}; set {named} to a name it has, or have it made for {host}")
X(EXPIRED, SETUP, "its certificate has expired ({detail}); renew it on the server")
X(EARLY, SETUP, "its certificate is not valid yet ({detail}); see whether this machine's clock is right")
X(REJECTED, SETUP, "its certificate cannot be accepted ({detail}); have another one made for the server")
X(PLAIN, SETUP, "it does not speak TLS; name its TLS port in {ported}, switch TLS on there, or {group}.tls off here")
X(NOT_OFFERED, SETUP, "it does not speak TLS; switch TLS on there (at the same port), or {group}.tls off here")
X(OWN_MISSING, SETUP,
  "it wants a certificate of its clients; name ours in {group}.tls_cert_file and {group}.tls_key_file")
X(OWN_REFUSED, SETUP,
  "it does not accept {group}.tls_cert_file ({detail}); name one that is valid now and signed by whom the server trusts")
X(VERSION, SETUP, "no version or cipher of TLS is common to both ({detail}); let the server speak TLS 1.2 or later")
X(FAILED, AWAY, "the TLS handshake failed ({detail}); see the server's log")
X(ASKED, AWAY,
  "it asked for a certificate and then ended the connection; if it insists on one, name ours in {group}.tls_cert_file "
  "and {group}.tls_key_file")
X(ENDED, AWAY, "it ended the connection in the TLS handshake; see the server's log")
X(SILENT, AWAY, "it does not go on with the TLS handshake within {detail}; see whether its TLS port is in {ported}")
