/* Descriptors 0, 1 and 2, which whoever starts a program may have closed. */
#ifndef ORDERD_STANDARD_FDS_H
#define ORDERD_STANDARD_FDS_H

/* The first thing a program does (output_prepare calls it): where one of the three is closed, the next socket to be
 * opened would get its number, and a log line or a table would be sent to the database. Takes their places with
 * /dev/null, opened the wrong way round, so that reading and writing fail there as they do on a closed one. Without
 * /dev/null it does nothing. */
void standard_fds_hold(void);

#endif
